"""Operations that CPython evaluates: a result that no column can hold fails its tuple, not the run."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tw
from thalweg import testing
from thalweg.errors import TupleError


class Text(tw.Tuple):
    s: str
    n: int


TEXTS = [Text("65", 1), Text("66", 2), Text("55296", 3), Text("67", 4)]

FAILING: dict[str, Any] = {
    "by text": lambda t: {"s": f"{int(t.s):c}", "n": t.n},
    "by pair": lambda t: {"s": f"{int(t.s):c}" + t.s, "n": t.n},
    "by row": lambda t: {"s": f"{t.n + 55293:c}", "n": t.n},
    "constant": lambda t: {"s": f"{55296:c}", "n": t.n},
}


@pytest.mark.parametrize("name", FAILING)
def test_a_lone_surrogate_fails_its_tuple(name: str) -> None:
    def app(on_error: str) -> tw.App:
        made = tw.App("surrogates")
        source = made.source(tw.files("texts"), Text, name="texts")
        source.map(FAILING[name], Text, on_error=on_error, name="chars").sink(tw.collect(), name="out")
        return made

    with pytest.raises(TupleError, match=r"UnicodeEncodeError: .* surrogates not allowed"):
        testing.run(app("fail"), {"texts": TEXTS})
    kept = [row.n for row in testing.run(app("skip"), {"texts": TEXTS})["out"]]
    assert kept == {"constant": [], "by row": [1, 2]}.get(name, [1, 2, 4])


def test_a_lone_surrogate_on_the_way_is_fine() -> None:
    app = tw.App("surrogates")
    source = app.source(tw.files("texts"), Text, name="texts")
    source.filter(lambda t: f"{int(t.s):c}" != f"{55296:c}").sink(tw.collect(), name="out")
    assert [row.n for row in testing.run(app, {"texts": TEXTS})["out"]] == [1, 2, 4]
