"""User code may submit only to the ports that it declared: those after them are for marks and dead letters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg.api import run
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import TupleError
from thalweg.verify.reference import Reference


class Number(tw.Tuple):
    time: int


class AtEnd(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        pass

    def at_end(self) -> None:
        self.submit({"time": 1}, 1)


def to_port(port: Any) -> Callable[[Any, Any, Any], None]:
    return lambda t, state, submit: submit({"time": t.time}, port)


@pytest.mark.parametrize(
    ("code", "found"),
    [(to_port(1), "1"), (to_port(-1), "-1"), (to_port(True), "True"), (to_port("0"), "'0'"), (AtEnd(), "1")],
)
def test_a_port_that_is_not_there(tmp_path: Path, code: Any, found: str) -> None:
    app = tw.App("ports")
    numbers = app.source(tw.beacon(lambda i: {"time": i}, count=3), Number).punctor(lambda t: t.time == 1)
    numbers.custom(code, Number).sink(tw.collect())
    with pytest.raises(TupleError) as local:
        run(app, engine="local", checkpoint=tmp_path / "checkpoint")
    with pytest.raises(TupleError) as reference:
        Reference(app.graph()).run(Checkpoint(tmp_path / "checkpoint").log)
    assert local.value.as_json() == reference.value.as_json()
    assert local.value.message == f"ValueError: expected a port in 0..0, found {found}"
