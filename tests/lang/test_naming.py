"""Operators are called what the user calls their streams."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import Tick, bargains
from thalweg import testing
from thalweg.errors import GraphError


class Item(tw.Tuple):
    i: int


def names(app: tw.App) -> list[str]:
    return [o.name for o in app._operators]


def test_a_chain_is_named_after_its_variable() -> None:
    assert [o.name for o in bargains().operators] == [
        *("ticks", "trades", "quotes", "vwap", "bargains.join", "bargains.filter", "bargains", "out")
    ]


def test_without_a_variable_the_kind_is_the_name() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: t.volume > 1).sink(tw.collect())
    ticks.filter(lambda t: t.volume > 2).sink(tw.collect())
    assert names(app) == ["ticks", "filter", "sink", "filter_2", "sink_2"]


def test_a_variable_used_twice_is_numbered() -> None:
    app = tw.App("names")
    stream = app.source(tw.files("ticks"), Tick)
    stream = stream.filter(lambda t: t.volume > 1)
    stream = stream.filter(lambda t: t.volume > 2)
    stream.sink(tw.collect())
    assert names(app) == ["stream", "stream_2", "stream_3", "sink"]


def test_an_annotated_variable() -> None:
    app = tw.App("names")
    ticks: tw.Stream = app.source(tw.files("ticks"), Tick)
    assert ticks.ref.operator == "ticks"


def test_an_own_name_wins() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick, name="input-1")
    assert ticks.ref.operator == "input-1"


def test_two_operators_of_one_name_are_refused() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: t.volume > 1, name="f")
    with pytest.raises(GraphError, match="two operators are called f") as error:
        ticks.filter(lambda t: t.volume > 1, name="f")
    assert "test_naming.py:" in str(error.value.found)


BAD_WORDS = ["", "two words", "a=b", "a#b", "a[0]", "tab\t", "nul\0", "\ud800", "\x1b[31m", "a;b", "a,b"]
BAD_PATHS = ["../../escaped", "..", ".", ".hidden", "a/b", "/a", "a\\b", "a..b", "a."]


@pytest.mark.parametrize("name", [*BAD_WORDS, *BAD_PATHS])
def test_names_that_plans_options_and_checkpoints_could_not_hold(name: str) -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    with pytest.raises(GraphError, match="bad application name"):
        tw.App(name)
    with pytest.raises(GraphError, match="bad composite name"):
        tw.composite(lambda stream: stream).named(name)
    with pytest.raises(GraphError, match="bad operator name") as error:
        ticks.sink(tw.collect(), name=name)
    assert error.value.where is not None
    assert error.value.where.file == __file__
    assert error.value.expected == (
        "a word without spaces, control characters or # = [ ] ; , / \\; dots only inside it"
    )
    assert error.value.found == repr(name)
    assert error.value.hint is not None


@pytest.mark.parametrize("name", ["größe", "温度", "имя-1", "a.b", "x'y", "naïve_2", "🙂"])
def test_names_in_any_script_are_folders_of_the_checkpoint(name: str, tmp_path: Path) -> None:
    app = tw.App("names")
    items = app.source(tw.iterable([{"i": 1}, {"i": 2}]), Item, name=f"in.{name}")
    items.filter(lambda t: t.i > 1, name=f"more.{name}").sink(tw.collect(), name=name)
    found = tw.run(app, engine="local", checkpoint=tmp_path / "checkpoint", fuse=f"in.{name}, more.{name}")
    assert found.tuples_out == {name: 1}
    assert (tmp_path / "checkpoint" / "results" / name).is_dir()


def test_numbers_of_names_fill_the_gaps_that_own_names_leave() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    made: list[str] = []
    for number in range(8):
        if number == 2:
            made.append(ticks.filter(lambda t: t.volume > 1, name="filter_4").ref.operator)
        if number == 6:
            made.append(ticks.filter(lambda t: t.volume > 1, name="filter_2_2").ref.operator)
        made += [ticks.filter(lambda t: t.volume > 1).ref.operator]
    numbers = [*("filter", "filter_2", "filter_4", "filter_3"), *(f"filter_{i}" for i in (5, 6, 7))]
    assert made == [*numbers, "filter_2_2", "filter_8", "filter_9"]


def test_a_name_that_was_not_used_is_given_again() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: t.volume > 1).sink(tw.collect())
    with pytest.raises(GraphError):
        ticks.filter(lambda t: t.volume > 1, on_error="other")
    ticks.filter(lambda t: t.volume > 1).sink(tw.collect())
    assert names(app) == ["ticks", "filter", "sink", "filter_2", "sink_2"]


def test_calls_of_a_composite_are_numbered_like_operators() -> None:
    @tw.composite
    def busy(stream: tw.Stream) -> tw.Stream:
        return stream.filter(lambda t: t.volume > 1, name="f")

    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    busy(ticks), busy.named("busy_2")(ticks), busy(ticks), busy(ticks)
    assert names(app)[1:] == ["busy.f", "busy_2.f", "busy_3.f", "busy_4.f"]


class CountedDict(dict[str, Any]):
    """Counts how often a name is looked up."""

    looked_up = 0

    def __contains__(self, key: object) -> bool:
        self.looked_up += 1
        return super().__contains__(key)


def test_naming_an_operator_takes_as_long_as_the_last() -> None:
    app = tw.App("names")
    app._by_name = taken = CountedDict()
    ticks = app.source(tw.files("ticks"), Tick)
    for _ in range(200):
        ticks.filter(lambda t: t.volume > 1)
    assert taken.looked_up < 1_000  # it was one for each number below: 20,000
    assert names(app)[-1] == "filter_200"


class Echo(tw.Operator):
    def process(self, t: object, port: int) -> None:
        self.submit(t)


def test_unpacked_and_other_assignments() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    (one,) = tw.operator(Echo(), ticks, into=Tick)
    [two] = tw.operator(Echo(), ticks, into=Tick)
    three, four = ticks.filter(lambda t: t.volume > 3), ticks.filter(lambda t: t.volume > 4)
    (five, (six,)) = ticks.filter(lambda t: t.volume > 5), tw.operator(Echo(), ticks, into=Tick)
    made = SimpleNamespace()
    made.seven = ticks.filter(lambda t: t.volume > 7)
    nine = (eight := ticks.filter(lambda t: t.volume > 8)).map(lambda t: {"price": t.price})
    ten = eleven = ticks.filter(lambda t: t.volume > 10).isolate()
    (twelve,) = tw.operator(Echo(), ticks.filter(lambda t: t.volume > 12), into=Tick)
    low, high = ticks.split(lambda t: 0, 2)
    streams = [one, two, three, four, five, six, made.seven, eight, nine, ten, eleven, twelve, low, high]
    expected = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "ten",
        "twelve",
        "split",
        "split",
    ]
    assert [stream.ref.operator for stream in streams] == expected
    assert "twelve.filter" in names(app)


def test_a_sink_may_be_called_like_an_operator() -> None:
    app = tw.App("names")
    ticks = app.source(tw.iterable([{"kind": "T", "symbol": "A", "price": 1.0, "volume": 2}]), Tick)
    ticks.sink(tw.collect(), name="ticks")
    ticks.sink(tw.collect(), name="later")
    later = ticks.filter(lambda t: t.volume > 5)
    later.sink(tw.collect(), name="out")
    assert [o.name for o in app.graph().operators] == ["ticks", "ticks.sink", "later.sink", "later", "out"]
    result = tw.run(app, engine="local")
    assert result.tuples("ticks") == result.tuples("later") == [("T", "A", 1.0, 2)]
    assert result.tuples("out") == []


def test_two_sinks_of_one_name_are_refused() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.sink(tw.collect(), name="out")
    with pytest.raises(GraphError, match="two sinks are called out"):
        ticks.sink(tw.collect(), name="out")
    ticks.filter(lambda t: t.volume > 1, name="ticks.sink").sink(tw.collect(), name="ticks")
    with pytest.raises(GraphError, match=r"two operators are called ticks\.sink"):
        app.graph()


class Odd(tw.Tuple):
    count: int
    index: str


def test_rows_of_a_run_have_names_and_are_tuples() -> None:
    app = tw.App("rows")
    app.source(tw.iterable([{"count": 1, "index": "a"}, {"count": 2, "index": "b"}]), Odd).sink(tw.collect())
    rows = tw.run(app, engine="local").tuples()
    assert rows == [(1, "a"), (2, "b")]
    assert [(row.count, row.index) for row in rows] == rows
    assert isinstance(rows[0], tuple)
    assert repr(rows[0]) == "Odd(count=1, index='a')"
    assert {(1, "a")} == {rows[0]}
    assert pickle.loads(pickle.dumps(rows))[1].index == "b"
    with pytest.raises(AttributeError, match="no attribute 'price'"):
        _ = rows[0].price
    again = tw.App("again")
    again.source(tw.iterable(rows), Odd).sink(tw.collect())
    assert tw.run(again, engine="local").tuples() == rows


def test_rows_of_a_class_in_a_function_can_be_pickled() -> None:
    class Local(tw.Tuple):
        count: int

    app = tw.App("rows")
    app.source(tw.iterable([Local(1)]), Local).sink(tw.collect(), name="out")
    run, tested = tw.run(app, engine="local").tuples()[0], testing.run(app, {"source": [Local(1)]})["out"][0]
    for row in (run, tested):
        again = pickle.loads(pickle.dumps(row))
        assert (again, again.count, repr(again)) == (row, 1, "Local(count=1)")
        assert type(again) is type(row)
    assert pickle.loads(pickle.dumps(tested)) == {"count": 1}
