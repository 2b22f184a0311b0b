"""Hints that say what to do: what dropped an attribute, what a path or a name may have meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import Tick
from tests.small import Stop, stop_after
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.errors import CheckpointError, GraphError, InputError, TupleError, shown
from thalweg.optimize.passes import make_plan


class Bid(tw.Tuple):
    auction: int
    price: float


class Event(tw.Tuple):
    kind: str
    bid: Bid
    other: Bid | None


class Named(tw.Tuple):
    name: str


class Place(tw.Tuple):
    n: int
    place: str


class Maybe(tw.Tuple):
    text: str | None


class Numbered(tw.Tuple):
    n: int


def ticks() -> tw.Stream:
    return tw.App("hints").source(tw.files("ticks"), Tick)


def slim() -> tw.Stream:
    stream = ticks().map(lambda t: {"price": t.price, "volume": t.volume}, name="slim")
    return stream.filter(lambda t: t.price > 1, name="dear")


DROPPED = {
    "a key": lambda s: s.dedup("symbol"),
    "a window's key": lambda s: s.aggregate(window.running(by="symbol"), n=agg.count()),
    "a function": lambda s: s.filter(lambda t: t.symbol == "A"),
    "a map": lambda s: s.map(lambda t: {"symbol": t.symbol}),
    "a fold": lambda s: s.aggregate(window.running(), symbol=agg.any("symbol")),
    "a punctor": lambda s: s.punctor(lambda t: t.symbol == "A"),
    "a sort": lambda s: s.sort("symbol", buffer=2),
}


@pytest.mark.parametrize("use", DROPPED.values(), ids=DROPPED)
def test_an_attribute_that_a_map_dropped(use: Any) -> None:
    with pytest.raises(GraphError, match="unknown attribute symbol") as caught:
        use(slim())
    hint = str(caught.value.hint)
    assert hint.startswith("slim (")
    assert "test_hints.py:" in hint
    assert hint.endswith("does not keep symbol: add it there")


def test_an_attribute_that_never_was_there_gets_a_similar_name() -> None:
    with pytest.raises(GraphError) as caught:
        slim().dedup("prise")
    assert caught.value.hint == "did you mean `price`?"


EVENTS = [{"kind": "b", "bid": {"auction": n, "price": n / 2}, "other": None} for n in range(4)]


def test_a_map_returns_an_attribute_that_is_a_tuple() -> None:
    app = tw.App("bids")
    events = app.source(tw.iterable(EVENTS), Event)
    events.map(lambda e: e.bid, Bid).filter(lambda b: b.auction > 1).sink(tw.collect(), name="declared")
    events.map(lambda e: e.bid).sink(tw.collect(), name="inferred")
    result = tw.run(app, engine="local")
    assert result.tuples("declared") == [(2, 1.0), (3, 1.5)]
    assert result.tuples("inferred") == [(n, n / 2) for n in range(4)]


def test_a_map_to_a_different_tuple_or_to_one_that_may_be_missing_is_refused() -> None:
    events = tw.App("bids").source(tw.iterable(EVENTS), Event)
    with pytest.raises(GraphError, match="the map returns a different tuple type"):
        events.map(lambda e: e.bid, Tick)
    with pytest.raises(GraphError, match="a map must return a tuple") as caught:
        events.map(lambda e: e.other)
    assert caught.value.hint == (
        "remove missing values with a .filter() first, then declare the type: .map(function, Bid)"
    )


def test_a_map_takes_what_a_filter_left_of_missing_values() -> None:
    app = tw.App("bids")
    events = app.source(tw.iterable([*EVENTS, {"kind": "o", "bid": EVENTS[0]["bid"], "other": (7, 3.5)}]), Event)
    events.filter(lambda e: e.other is not None).map(lambda e: e.other, Bid).sink(tw.collect())
    assert tw.run(app, engine="local").tuples() == [(7, 3.5)]


def test_an_attribute_that_may_be_missing_where_one_is_needed_fails_its_tuple() -> None:
    texts = tw.App("maybe").source(tw.iterable([{"text": "a"}, {"text": None}]), Maybe)
    names = texts.filter(lambda t: t.text is not None).map(lambda t: {"name": t.text}, Named)
    names.sink(tw.collect())
    assert tw.run(names.app, engine="local").tuples() == [("a",)]
    texts.map(lambda t: {"name": t.text}, Named).sink(tw.none())
    with pytest.raises(TupleError, match=r"name: expected str, found NoneType \(None\); declare `str \| None`"):
        tw.run(names.app, engine="local")


def test_a_single_value_where_a_tuple_is_expected() -> None:
    texts = tw.App("single").source(tw.iterable([{"text": "a"}]), Maybe)
    with pytest.raises(GraphError, match="a map must return a tuple") as caught:
        texts.map(lambda t: 1, Numbered)
    assert caught.value.hint == 'return {"n": …}'


def test_none_in_an_attribute_suggests_an_optional_one() -> None:
    app = tw.App("none")
    names = app.source(tw.iterable([{"name": "a"}]), Named)
    names.map(lambda t: Named({"b": "c"}.get(t.name)), Named).sink(tw.collect())
    with pytest.raises(TupleError, match=r"expected str, found NoneType \(None\); declare `str \| None`"):
        tw.run(app, engine="local")


def missing_result(texts: tw.Stream) -> tw.Stream:
    return texts.aggregate(window.tumbling(count=1), found=agg.apply(first_long, "text", str))


def first_long(texts: list[Any]) -> Any:
    return next((text for text in texts if len(text or "") > 9), None)


NONE_RESULTS: dict[str, tuple[Any, str]] = {
    "an aggregate's function": (missing_result, "the result of first_long"),
    "a batch": (lambda s: s.map_batches(lambda table: table.rename_columns(["name"]), Named), "name"),
    "a tuple of a window": (
        lambda s: s.apply(window.tumbling(count=1), lambda ts: [{"name": ts[0].text}], Named),
        "name",
    ),
}


@pytest.mark.parametrize("what", NONE_RESULTS)
def test_none_in_a_result_names_it_and_suggests_an_optional_one(what: str) -> None:
    operator, name = NONE_RESULTS[what]
    app = tw.App("none")
    operator(app.source(tw.iterable([{"text": None}]), Maybe)).sink(tw.collect())
    with pytest.raises(
        TupleError, match=rf"{name}: expected str, found .*; declare `str \| None` if it may be missing"
    ):
        tw.run(app, engine="local")


def test_none_for_the_missing_rows_of_a_table_suggests_an_optional_attribute() -> None:
    texts = tw.App("table").source(tw.iterable([{"n": 1}]), Numbered)
    with pytest.raises(GraphError, match="bad values for missing rows") as caught:
        texts.lookup([Place(1, "here")], Place, on="n", missing={"place": None})
    assert caught.value.hint == "declare it as `place: str | None`"


def test_integers_of_thousands_of_digits_are_shortened() -> None:
    app = tw.App("long")
    numbers = app.source(tw.iterable([{"n": 6000}]), Numbered)
    numbers.map(lambda t: Numbered(10**t.n), Numbered).sink(tw.collect())
    with pytest.raises(TupleError, match="an int of 6,001 digits does not fit into a 64-bit int"):
        tw.run(app, engine="local")
    assert shown(10**3000) == repr(10**3000)
    assert str(GraphError(f"found {10**3000}")) == "found 100000000000…000000000000 (3,001 digits)"
    assert shown([10**6000]) == "a list with an int of thousands of digits"
    with pytest.raises(GraphError, match="bad k") as caught:
        ticks().top_k(-(10**6000), "price", window=window.running())
    assert caught.value.found == "an int of 6,001 digits"


def run_of(path: Path) -> None:
    app = tw.App("paths")
    app.source(tw.files(path, format="jsonl"), Numbered).sink(tw.collect())
    tw.run(app, engine="local")


def test_a_path_with_a_similar_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "orders" / "2026").mkdir(parents=True)
    with pytest.raises(InputError) as caught:
        run_of(tmp_path / "order" / "2026")
    assert caught.value.hint == f"did you mean `{tmp_path / 'orders'}`?"
    with pytest.raises(InputError) as caught:
        run_of(tmp_path / "zzz")
    assert "relative to the folder in which the run is started" in str(caught.value.hint)


def test_a_path_beside_the_application_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        run_of(Path(Path(__file__).name))
    assert f"there is {Path(__file__).absolute()}" in str(caught.value.hint)


def counts(name: str) -> tw.App:
    app = tw.App("renamed")
    numbers = app.source(tw.iterable([{"n": 1}, {"n": 2}]), Numbered)
    numbers.aggregate(window.running(by="n"), n=agg.count(), name=name).sink(tw.collect())
    return app


def test_a_renamed_operator_on_an_old_checkpoint(tmp_path: Path) -> None:
    plan, options = make_plan(counts("total").graph()), RunOptions(tmp_path, max_tuples_per_epoch=1, in_process=True)
    with pytest.raises(Stop):
        run_local(plan, options, stop_after(0))
    with pytest.raises(CheckpointError, match="an operator with state is not in the application") as caught:
        run_local(make_plan(counts("sum").graph()), RunOptions(tmp_path, in_process=True), lambda _: None)
    assert caught.value.expected == "total"
    assert caught.value.found == "sum"
    assert 'give it back its name: name="total"' in str(caught.value.hint)


def test_an_event_time_that_an_aggregate_or_a_map_does_not_keep() -> None:
    timed = ticks().event_time("volume")
    counted = timed.aggregate(window.tumbling(time=10), n=agg.count(), name="counted")
    with pytest.raises(GraphError, match="has no event time") as caught:
        counted.aggregate(window.tumbling(time=20), n=agg.sum("n"))
    assert "agg.window_end()" in str(caught.value.hint)
    with pytest.raises(GraphError, match="has no event time") as caught:
        timed.map(lambda t: {"price": t.price}, name="prices").dedup("price", within=3)
    assert str(caught.value.hint).startswith("keep volume in prices (")
