"""Too little memory outside of users' code."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tw
from thalweg.errors import EngineError
from thalweg.runtime.frame_operators import FrameOperators


class Number(tw.Tuple):
    n: int


def test_a_pe_without_memory_names_its_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*arguments: Any) -> Any:
        raise MemoryError("malloc of size 64")

    app = tw.App("huge")
    numbers = app.source(tw.beacon(lambda i: Number(i), count=9), Number)
    numbers.filter(lambda t: t.n > 1, name="large").sink(tw.collect())
    monkeypatch.setattr(FrameOperators, "_vector", no_memory)
    with pytest.raises(EngineError, match="not enough memory") as error:
        tw.run(app, engine="local")
    assert (error.value.operator, error.value.found) == ("large", "MemoryError: malloc of size 64")
    assert error.value.where == app.graph().by_name["large"].where
