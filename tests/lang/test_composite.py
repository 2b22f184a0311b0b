"""Composites: names, places, nesting, and that names do not depend on unrelated code."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import thalweg as tw
from tests.graphs import Tick
from thalweg import agg, testing, window
from thalweg.cli.find_app import load_app
from thalweg.errors import GraphError, Where


@tw.composite
def smooth(ticks: tw.Stream, size: int) -> tw.Stream:
    """The mean price of each symbol."""
    by_symbol = window.sliding(count=size, by="symbol")
    return ticks.aggregate(by_symbol, symbol=agg.any("symbol"), mean=agg.mean("price"), name="mean")


@tw.composite
def outliers(ticks: tw.Stream, *, factor: float = 2.0) -> tuple[tw.Stream, tw.Stream]:
    level = smooth(ticks, 3)
    both = ticks.join(level, window.last(1), on="symbol")
    return both.filter(lambda t: t.price > t.mean * factor, name="high"), both.filter(lambda t: t.price < t.mean)


@tw.composite
def ends(ticks: tw.Stream) -> None:
    ticks.sink(tw.collect())


def start() -> tuple[tw.App, tw.Stream]:
    app = tw.App("composites")
    return app, app.source(tw.files("ticks"), Tick, name="ticks")


def names(app: tw.App) -> list[str]:
    return [o.name for o in app.graph().operators]


def test_operators_are_named_after_the_call() -> None:
    app, ticks = start()
    short = smooth(ticks, 3)
    loud = smooth(ticks, 9).filter(lambda t: t.mean > 1.0)
    smooth(ticks, 4).sink(tw.collect())
    smooth(ticks, 5).sink(tw.collect())
    own = smooth.named("own-1")(ticks, 6)
    for stream in (short, loud, own):
        ends(stream)
    assert names(app) == [
        *("ticks", "short.mean", "loud.smooth.mean", "loud", "smooth.mean", "sink", "smooth_2.mean", "sink_2"),
        *("own-1.mean", "ends.sink", "ends_2.sink", "ends_3.sink"),
    ]


def test_calls_nest_and_captured_parameters_are_read() -> None:
    app, ticks = start()
    high, low = outliers(ticks, factor=3.0)
    high.sink(tw.collect())
    low.sink(tw.collect())
    assert names(app)[1:5] == ["outliers.level.mean", "outliers.both", "outliers.high", "outliers.filter"]
    function = app.graph().by_name["outliers.high"].function  # type: ignore[attr-defined]
    assert function.fingerprint() == "(> .price (* .mean 3.0))"


def test_the_plan_does_not_matter() -> None:
    app, ticks = start()
    high, low = outliers(ticks, factor=1.5)
    calm = smooth(low.filter(lambda t: t.volume > 2, name="large").map(lambda t: Tick(t.kind, t.symbol, t.price, 1)), 2)
    ends(high)
    ends(calm)
    rows = [(("T", "Q")[i % 2], f"s{i % 5}", float(i * 7 % 11), i % 6) for i in range(80)]
    testing.assert_plan_invariant(app, {"ticks": rows}, plans=20)


def test_places_show_the_body_and_the_calls() -> None:
    app, ticks = start()
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    high, low = outliers(ticks)
    ends(high)
    ends(low)
    where = app.graph().by_name["outliers.level.mean"].where
    body, first = inspect.getsourcelines(outliers._function)
    inner = first + next(i for i, text in enumerate(body) if "level = smooth" in text)
    assert where.file.endswith("test_composite.py")
    assert where.via == Where(__file__, inner, Where(__file__, line))
    assert str(where).endswith(f", called at {__file__}:{inner}, called at {__file__}:{line}")
    assert Where.parse(str(where)) == where


def test_a_mistake_inside_shows_both_lines() -> None:
    @tw.composite
    def wrong(ticks: tw.Stream) -> tw.Stream:
        return ticks.filter(lambda t: t.prize > 1)

    @tw.composite
    def nothing(ticks: tw.Stream) -> int:
        return 3

    _, ticks = start()
    with pytest.raises(GraphError, match="unknown attribute prize") as error:
        wrong(ticks)
    assert error.value.where is not None
    assert error.value.where.via is not None
    assert error.value.where.via.line > error.value.where.line
    with pytest.raises(GraphError, match="the composite nothing does not return streams"):
        nothing(ticks)
    with pytest.raises(GraphError, match="the composite smooth gets no stream"):
        smooth(None, 3)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="bad composite name"):
        smooth.named("two words")
    # A composite that failed leaves no prefix behind.
    after = ticks.filter(lambda t: t.price > 1)
    assert after.ref.operator == "after"


def test_two_names_inside_one_call_are_refused() -> None:
    @tw.composite
    def twice(ticks: tw.Stream) -> tw.Stream:
        return ticks.filter(lambda t: t.price > 1, name="same").filter(lambda t: t.price > 2, name="same")

    _, ticks = start()
    with pytest.raises(GraphError, match=r"two operators are called both\.same"):
        twice.named("both")(ticks)


APP = """
import thalweg as tw
from thalweg import agg, window

class Tick(tw.Tuple):
    symbol: str
    price: float

@tw.composite
def smooth(ticks, size):
    means = ticks.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), mean=agg.mean("price"))
    return means.filter(lambda t: t.mean > size)

app = tw.App("stable")
ticks = app.source(tw.files("ticks"), Tick)
spare = ticks.filter(lambda t: t.price > 5.0)
last = ticks.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), price=agg.last("price"))
quiet = smooth(ticks, 3)
joined = ticks.join(quiet, window.last(1), on="symbol").filter(lambda t: t.price > 0.0)
joined.sink(tw.collect(), name="out")
last.sink(tw.collect(), name="lasts")
spare.sink(tw.collect(), name="spares")
"""
CHANGES = {
    "an operator before": ("spare =", "ticks.filter(lambda t: t.price > 5.0).sink(tw.collect())\nspare ="),
    "a composite before": ("spare =", "more = smooth(ticks, 1)\nmore.sink(tw.collect())\nspare ="),
    "an operator after it": ("last.sink", "last.map(lambda t: {'p': t.price}).sink(tw.collect())\nlast.sink"),
    "an operator between": ("ticks.join(", "ticks.filter(lambda t: t.price > 1.0).join("),
    "a variable renamed": ("spare", "another"),
    "a variable of the composite renamed": ("return means.filter", "size = size + 1\n    return means.filter"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_operators_keep_their_names(tmp_path: Path, change: str) -> None:
    """State is found again by name: what is added elsewhere must not move it."""
    texts = {"was": APP, "now": APP.replace(*CHANGES[change])}
    assert texts["was"] != texts["now"]
    found = {}
    for name, text in texts.items():
        file = tmp_path / f"{name}_{tmp_path.name.replace('-', '_')}.py"
        file.write_text(text)
        graph = load_app(str(file)).graph()
        found[name] = {o.name: type(o) for o in graph.operators}
    kept = {"last", "quiet.means", "quiet.filter", "joined.join", "joined", "out", "lasts"}
    assert found["now"].items() >= {name: found["was"][name] for name in kept}.items()
