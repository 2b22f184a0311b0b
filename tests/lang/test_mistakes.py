"""What a user can do wrong while building a graph: each mistake has its message, its place and, if any, its hint."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import Tick
from thalweg import agg, window
from thalweg.errors import GraphError


class Other(tw.Tuple):
    symbol: str
    price: float


class Rich(tw.Tuple):
    when: datetime
    maybe: int | None
    cost: Decimal
    sizes: list[int]
    rate: float


class Strict(tw.Tuple):
    n: int


def source(tuple_type: type[tw.Tuple] = Tick) -> tw.Stream:
    return tw.App("mistakes").source(tw.files("ticks"), tuple_type)


def two_streams() -> tuple[tw.Stream, tw.Stream]:
    app = tw.App("mistakes")
    return app.source(tw.files("ticks"), Tick), app.source(tw.files("others"), Other)


def union_of_different_types() -> Any:
    ticks, others = two_streams()
    return ticks.union(others)


def join_with_a_name_clash() -> Any:
    ticks, others = two_streams()
    return ticks.join(others, window.last(), on="symbol")


def join_by_another_type() -> Any:
    ticks, others = two_streams()
    return ticks.join(others.map(lambda t: {"volume": t.price}), window.last(), on="volume")


def join_kept_by_another_key() -> Any:
    ticks, others = two_streams()
    return ticks.join(others, window.last(by="price"), on="symbol")


def join_on_an_unknown_attribute() -> Any:
    ticks, others = two_streams()
    return ticks.join(others, window.last(), on="volume")


def join_with_a_bad_band() -> Any:
    ticks, others = two_streams()
    return ticks.join(others, window.last(), band=untyped(("price", "price")))


def banded(mine: str, theirs: str, distance: Any) -> Any:
    ticks, others = two_streams()
    return ticks.join(
        others.map(lambda t: {"symbol": t.symbol, "price": t.price}), window.last(), band=(mine, theirs, distance)
    )


def self_banded(band: Any) -> Any:
    rich = source(Rich)
    return rich.join(rich, window.last(), band=band)


def merged_by(attribute: str) -> Any:
    rich = source(Rich)
    return rich.merge_ordered(rich.filter(lambda t: t.rate > 1), on=attribute)


def joined_within_another_unit() -> Any:
    ticks = source().event_time("volume")
    return ticks.join(ticks, window.within(timedelta(seconds=1)), on="symbol")


def join_where_nothing_is_returned() -> Any:
    ticks, others = two_streams()
    return ticks.join(others.map(lambda o: {"other": o.price}), window.last(), where=returns_nothing)


def letters_that_nothing_reads() -> Any:
    ticks = source()
    ticks.map(lambda t: {"ratio": 1 / t.volume}, on_error="dead_letter", name="ratios").sink(tw.none())
    return ticks.app.graph()


def joined_within_two_times() -> Any:
    ticks = source().event_time("volume")
    return ticks.join(ticks, window.within(1), mine=window.within(2), on="symbol")


class Dated(tw.Tuple):
    when: datetime
    n: int


def barrier_with_a_name_clash() -> Any:
    ticks, others = two_streams()
    return ticks.barrier(others)


class Company(tw.Tuple):
    symbol: str
    company: str


class Doubled(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit(t)


class Misspelt(tw.Operator):
    def proces(self, t: Any, port: int) -> None:
        self.submit(t)


def returns_nothing(t: Any, other: Any = None) -> Any:
    _ = t.volume > 5


def always_fails(t: Any) -> Any:
    raise ValueError(t)


def helper(t: Any) -> Any:
    return t


def untyped(value: Any) -> Any:
    """Past the type checker, as a user without one would write it."""
    return value


MISTAKES: list[tuple[Callable[[], Any], str, str | None, str | None]] = [
    # what, message, expected, hint
    (lambda: source().filter(lambda t: t.prise > 1), "unknown attribute prise", None, "did you mean `price`?"),
    (
        lambda: source().aggregate(window.running(by="symbl"), n=agg.count()),
        "unknown attribute symbl",
        None,
        "`symbol`",
    ),
    (lambda: source().aggregate(window.running(), n=agg.sum("zzz")), "unknown attribute zzz", "one of kind", None),
    (lambda: source().map(lambda t: t.price), "a map must return a tuple", "a dict of attributes", None),
    (
        lambda: source().map(lambda t: {**vars(t)}),
        "cannot be inferred: an output",
        "declared tuple type",
        "map(function",
    ),
    (lambda: source().map(lambda t: {"symbol": t.symbol, "prize": t.price}, Other), "returns prize", None, "`price`"),
    (lambda: source().map(lambda t: {"symbol": t.symbol}, Other), "does not return price", "Other(", None),
    (lambda: source().map(lambda t: {"symbol": t.price, "price": 1.0}, Other), "wrong type for symbol", "str", None),
    (lambda: source().map(lambda t: {"class": t.price}), "bad attribute name 'class'", "a Python identifier", None),
    (lambda: source().map(lambda t: {"a b": t.price}), "bad attribute name 'a b'", "a Python identifier", None),
    (lambda: source().map(lambda t: {"_p": t.price}, name="p"), "attribute name _p of p is reserved", None, None),
    (lambda: source().map(lambda t: {"self": t.price}, name="p"), "attribute name self of p is reserved", None, None),
    (
        lambda: type("T", (tw.Tuple,), {"__annotations__": {"tuple_type": int}}),
        "tuple_type of T is reserved",
        None,
        None,
    ),
    (lambda: source().map(untyped(3)), "map: bad function", "a function of one tuple", None),
    (lambda: source().flat_map(lambda t: [t], untyped(None)), "not a tuple type", "a subclass of tw.Tuple", None),
    (lambda: source().split(lambda t: t.volume, 0), "split: bad ports", "1 or more", None),
    (lambda: source().split(lambda t: t.price, 2), "the function must return a port", "an int in 0..1", None),
    (union_of_different_types, "union of different tuple types", "Tick(kind: str", None),
    (lambda: source().union(source()), "streams of different applications cannot be combined", None, None),
    (lambda: source().aggregate(untyped(window.last()), n=agg.count()), "not a window for an aggregate", None, None),
    (lambda: source().aggregate(window.running()), "an aggregate without fields", None, "agg.sum"),
    (
        lambda: source().aggregate(window.running(), s=agg.sum("symbol")),
        "agg.sum does not accept str",
        "int, float or Decimal",
        None,
    ),
    (
        lambda: source().aggregate(window.running(), s=agg.max(lambda t: t.price > 1)),
        "agg.max does not accept bool",
        None,
        "counts a",
    ),
    (lambda: source().aggregate(window.running(), s=agg.any("kind") + 1), "cannot be combined by +", "numbers", None),
    (lambda: source().aggregate(window.running(), s=agg.count() + untyped(None)), "combined with numbers", None, None),
    (lambda: source().aggregate(window.running(), s=agg.count() * 2**63), "combined with numbers", "64-bit int", None),
    (lambda: source().aggregate(window.running(), s=agg.sum(lambda t: hash(t.kind))), "cannot be read", None, ".map()"),
    (lambda: source().aggregate(window.running(), s=untyped(1)), "not an aggregate", None, None),
    (
        lambda: source(Rich).aggregate(window.running(), s=agg.sum("maybe")),
        "agg.sum does not accept int | None",
        "int, float or Decimal",
        "remove missing values first",
    ),
    (
        lambda: source(Rich).aggregate(window.running(), s=agg.min("maybe")),
        "agg.min does not accept int | None",
        "datetime",
        None,
    ),
    (
        lambda: source(Rich).aggregate(window.running(), s=agg.max("sizes")),
        "agg.max does not accept list[int]",
        "bytes",
        None,
    ),
    (
        lambda: source(Rich).aggregate(window.running(), s=agg.sum("when")),
        "agg.sum does not accept datetime",
        "Decimal",
        None,
    ),
    (lambda: source(Rich).aggregate(window.running(), s=agg.mean("cost")), "combined by /", "numbers", ".map() after"),
    (lambda: source(Rich).map(lambda t: {"n": t.cost}, Strict), "wrong type for n", "int", None),
    (lambda: source(Rich).map(lambda t: {"n": t.when.year}), "cannot be inferred", "a declared tuple type", None),
    (lambda: source(Rich).split(lambda t: t.maybe, 2), "the function must return a port", "an int in 0..1", None),
    (
        lambda: source().aggregate(window.running(), **untyped({"a b": agg.count()})),
        "bad attribute name 'a b'",
        None,
        None,
    ),
    (lambda: window.sliding(count=0), "sliding window: bad count", "1 or more", None),
    (lambda: window.sliding(count=3, slide=untyped(1.5)), "sliding window: bad slide", "1 or more", None),
    (lambda: window.last(-1), "last window: bad count", "0 or more, or None", None),
    (lambda: window.tumbling(count=2, time=3), "a tumbling window must be of one kind", "exactly one of count=", None),
    (lambda: window.running(by=untyped(3)), "attributes must be given by name", "one name, or several", None),
    (lambda: source().dedup(untyped(helper)), "attributes must be given by name", None, ".map() first"),
    (lambda: source().top_k(1, "price", window=untyped("symbol")), "not a window for top_k", "window.tumbling", None),
    (lambda: source().sort("price"), "needs a window or a buffer", "window=… or buffer=…", None),
    (lambda: source().apply(untyped(window.last()), list), "not a window for apply", "window.sliding", None),
    (lambda: source().union(untyped([1])), "not a stream", "a stream", None),
    (lambda: source().barrier(untyped(None)), "not a stream", "a stream", None),
    (
        lambda: source().custom(untyped(Doubled), Tick),
        "a class instead of an instance",
        "a subclass of tw.Operator",
        "Doubled(",
    ),
    (lambda: source().custom(untyped(3), Tick), "custom: not a valid operator", "a function of a tuple", None),
    (lambda: tw.operator(untyped(Doubled), source(), into=Tick), "a class instead of an instance", None, "Doubled(…)"),
    (lambda: source().custom(Misspelt(), Tick), "Misspelt has no method process", "def process(", None),
    (lambda: tw.operator(Misspelt(), source(), into=Tick), "Misspelt has no method process", "def process(", None),
    (lambda: source().filter(returns_nothing), "the function returns_nothing returns nothing", "True or False", None),
    (lambda: source().punctor(returns_nothing), "the function returns_nothing returns nothing", "True or False", None),
    (join_where_nothing_is_returned, "the function returns_nothing returns nothing", "True or False", None),
    (lambda: source().lookup([], Company, on="volume"), "lookup: Company does not have volume", None, "rename it"),
    (
        lambda: source().map(lambda t: {"symbl": t.symbol}).lookup([], Company, on="symbl"),
        "lookup: Company does not have symbl",
        "in both",
        "did you mean `symbol`?",
    ),
    (letters_that_nothing_reads, "the dead letters of ratios have no consumer", None, 'on_error="skip"'),
    (lambda: tw.operator(untyped(helper), source(), into=Tick), "tw.operator: not an operator", "tw.Operator", None),
    (lambda: tw.operator(Doubled(), into=Tick), "tw.operator: no input", "one stream or more", None),
    (lambda: source().late, "the stream source has no late tuples", "a window by time", None),
    (lambda: source().late_other, "no late tuples of another stream", "window.within", None),
    (lambda: source().dead_letters, "the stream source has no dead letters", 'on_error="dead_letter"', None),
    (lambda: source().event_time("volume", lateness=untyped("5 s")), "event_time: bad lateness", "a timedelta", None),
    (lambda: source().event_time("volume", step=0), "event_time: bad step", "1 or more", None),
    (
        lambda: source().aggregate(window.tumbling(delta=1, on="kind"), n=agg.count()),
        "a delta in kind, whose values have no distance",
        "int, float, Decimal, datetime or date",
        None,
    ),
    (
        lambda: source().aggregate(window.sliding(delta=timedelta(1), on="price"), n=agg.count()),
        "a delta in a different unit than price",
        "int or float, because price is float",
        None,
    ),
    (
        lambda: source(Rich).apply(window.tumbling(delta=1.5, on="when"), list),
        "a delta in a different unit than when",
        "timedelta, because when is datetime",
        None,
    ),
    (
        lambda: source(Rich).apply(window.tumbling(delta=1, on="maybe"), list),
        "a delta in maybe, whose values have no distance",
        "date",
        "remove missing values first",
    ),
    (lambda: banded("kind", "price", 1), "a band in kind, whose values", "int, float", None),
    (lambda: banded("price", "symbol", 1), "a band in symbol, whose values", "int, float", None),
    (lambda: banded("price", "price", timedelta(1)), "a band in a different unit than price", "int or float", None),
    (lambda: banded("price", "price", True), "a band in a different unit than price", "int or float", None),
    (lambda: self_banded(("when", 1)), "a band in a different unit than when", "timedelta, because when", None),
    (lambda: self_banded(("when", "cost", 1)), "a band in a different unit than when", "timedelta", None),
    (lambda: self_banded(("cost", "rate", 1)), "a band between Decimal and float", "Decimal or int", None),
    (lambda: source(Rich).sort("sizes", buffer=2), "sort: sizes has no order", "int, float, Decimal, str", None),
    (
        lambda: source(Rich).top_k(1, ("when", "maybe"), window=window.tumbling(count=2)),
        "top_k: maybe has no order",
        "or bool",
        "remove missing values first",
    ),
    (lambda: merged_by("sizes"), "merge_ordered: sizes has no order", "int, float", None),
    (lambda: source().split_randomly(untyped(["a"]), seed=1), "split_randomly: bad shares", "numbers", None),
    (lambda: source().split_randomly([1, math.inf], seed=1), "split_randomly: bad shares", "finite numbers", None),
    (lambda: source().delay(math.inf), "delay: bad seconds", "finite", None),
    (lambda: source().split_randomly([1], seed=untyped("a")), "split_randomly: bad seed", "an int", None),
    (
        lambda: source().event_time("volume", lateness=timedelta(seconds=1)),
        "different unit than the event time",
        "an int, in the unit of volume",
        None,
    ),
    (
        lambda: source().event_time("volume").aggregate(window.tumbling(time=timedelta(seconds=1)), n=agg.count()),
        "different unit than the event time",
        "an int",
        None,
    ),
    (
        lambda: source(Dated).event_time("when").top_k(1, "n", window=window.sliding(time=10)),
        "different unit than the event time",
        "a timedelta",
        None,
    ),
    (lambda: source(Dated).event_time("when").dedup("n", within=10), "different unit than the event time", None, None),
    (joined_within_another_unit, "different unit than the event time", "an int", None),
    (joined_within_two_times, "a join within two different times", "the same time on both sides", None),
    (lambda: window.sliding(time=10, slide=timedelta(seconds=1)), "sliding window: bad slide", "in its unit", None),
    (join_with_a_bad_band, "join: bad band", "(attribute, distance)", None),
    (barrier_with_a_name_clash, "both sides of the barrier have symbol, price", None, "before the barrier"),
    (lambda: source().lookup(untyped({"A": 1}), Company, on="symbol"), "an invalid row", "Company(", None),
    (join_with_a_name_clash, "both sides of the join have price", "different names", "rename them"),
    (join_by_another_type, "different types for volume", "int", None),
    (join_kept_by_another_key, "has a different key", None, None),
    (join_on_an_unknown_attribute, "unknown attribute volume", "one of symbol, price", None),
    (
        lambda: source().join(source(), window.last(), on="symbol"),
        "streams of different applications cannot be combined",
        None,
        None,
    ),
    (lambda: source().sink(untyped("out")), "not a sink", "tw.collect()", None),
    (
        lambda: source().sink(untyped(tw.beacon(str))),
        "not a sink",
        "tw.collect() or tw.console() or",
        "is a source",
    ),
    (lambda: source().sink(untyped(tw.iterable([]))), "not a sink", "tw.none()", "app.source(tw.iterable(…), Type)"),
    (lambda: source().sink(tw.tcp("h", 1, format="csv")), "a tcp sink connects", "without format", None),
    (lambda: source().sink(tw.tcp("h", 1, listen=True)), "a tcp sink connects", "tw.tcp(host, port)", None),
    (lambda: tw.files("x", format="parkett"), "files: bad format", "parquet, csv, jsonl", "`parquet`"),
    (lambda: tw.files("x", format="arow"), "files: bad format", "arrow", "`arrow`"),
    (lambda: tw.beacon(untyped(7)), "beacon: bad function", "a function of the tuple's number", None),
    (lambda: tw.beacon(str, count=-1), "beacon: bad count", "0 or more", None),
    (lambda: tw.beacon(str, count=untyped(1.5)), "beacon: bad count", "0 or more", None),
    (lambda: tw.beacon(str, shards=0), "beacon: bad shards", "1 or more", None),
    (lambda: tw.beacon(str, rate=0), "beacon: bad rate", "more than 0, or None", None),
    (lambda: tw.iterable(untyped(7)), "not an iterable", "an iterable", None),
    (lambda: tw.iterable(iter([1])), "can be read only once", "a function that returns a new iterator", "generator"),
    (
        lambda: tw.iterable(c for c in "ab"),
        "can be read only once",
        "a list or another collection",
        "without calling it",
    ),
    (lambda: tw.tcp("", 1), "tcp: bad host", "a name or an address", None),
    (lambda: tw.tcp("h", 65536), "tcp: bad port", "1 to 65535", None),
    (lambda: tw.tcp("h", untyped("80")), "tcp: bad port", "1 to 65535", None),
    (lambda: tw.tcp("h", 1, format="json"), "tcp: bad format", "jsonl, csv, text", "`jsonl`"),
    (lambda: tw.tcp("h", 1, on_error="skipp"), "tcp: bad on_error", "fail, skip", "`skip`"),
    (lambda: tw.tcp("h", 1, listen=untyped(1)), "tcp: bad listen", "True or False", None),
    (lambda: tw.tcp("h", 1, retry_s=float("inf")), "tcp: bad retry_s", "seconds", None),
    (lambda: tw.kafka("h:1", "t", retry_s=0), "kafka: bad retry_s", "seconds", None),
    (lambda: tw.console(rows=0), "console: bad rows", "1 or more", None),
    (lambda: tw.App("a").source(untyped("ticks"), Tick), "not a source", "tw.files", None),
    (lambda: tw.App("a").source(untyped(tw.console()), Tick), "not a source", "tw.beacon", "stream.sink(tw.console())"),
    (lambda: tw.App("a").source(untyped(tw.none()), Tick), "not a source", "tw.tcp", "is a sink"),
    (lambda: tw.App("a").source(tw.tcp("h", 1, format="text"), Tick), "a line of text is a single string", "str", None),
    (lambda: tw.App("a").source(tw.files("x"), untyped(dict)), "a source needs a tuple type", "tw.Tuple", None),
    (lambda: tw.App("a").source(untyped(Tick), untyped(tw.files("x"))), "a source needs", None, "comes first"),
    (lambda: tw.App("a").source(untyped(tw.files), Tick), "not a source", None, "call it: tw.files(…)"),
    (lambda: source().sink(untyped(tw.collect)), "not a sink", "tw.collect()", "call it: tw.collect(…)"),
    (lambda: source().union(untyped([source()])), "not a stream", "a stream", "*streams"),
    (lambda: source().aggregate(window.running(), n=agg.mean("symbol")), "agg.mean does not accept", "int", None),
    (lambda: source().aggregate(window.running(), n=agg.median("symbol")), "agg.median does not accept", "int", None),
    (
        lambda: source().aggregate(window.running(), untyped([agg.count()])),
        "aggregate: bad fields",
        "a dict of a str to an aggregate",
        None,
    ),
    (
        lambda: untyped(source()).top_k(1, "price", window.running()),
        "top_k: too many positional arguments",
        "top_k(k, by, *, window,",
        "given by name",
    ),
    (lambda: tw.App("a").graph(), "has no source", None, "app.source"),
    (lambda: source().app.graph(), "has no consumer", "after every output port", ".sink"),
]


@pytest.mark.parametrize(
    ("mistake", "message", "expected", "hint"), MISTAKES, ids=lambda v: v if type(v) is str else ""
)
def test_mistake(mistake: Callable[[], Any], message: str, expected: str | None, hint: str | None) -> None:
    with pytest.raises(GraphError) as caught:
        mistake()
    error = caught.value
    assert message in error.message
    assert expected is None or expected in str(error.expected)
    assert hint is None or hint in str(error.hint)
    assert error.where is not None
    assert error.where.file == __file__, "the place is the user's, not Thalweg's"


def line_of(text: str) -> int:
    with open(__file__) as file:
        (number,) = (i for i, line in enumerate(file, 1) if text in line and "line_of" not in line)
    return number


def test_the_line_is_that_of_the_call() -> None:
    ticks = source()
    with pytest.raises(GraphError) as caught:
        ticks.aggregate(window.running(), wrong_sum=agg.sum("kind"))
    assert caught.value.where is not None
    assert caught.value.where.line == line_of('wrong_sum=agg.sum("kind")')


def test_in_a_function_of_several_lines_the_line_is_that_of_the_attribute() -> None:
    ticks = source()
    with pytest.raises(GraphError) as caught:
        ticks.map(
            lambda t: {
                "p": t.price,
                "v": t.volumen,
            }
        )
    assert caught.value.where is not None
    assert caught.value.where.line == line_of('"v": t.volumen')


def test_a_predicate_that_always_raises_is_one() -> None:
    source().filter(always_fails).sink(tw.none())


def test_one_port_of_a_split_leads_nowhere() -> None:
    ticks = source()
    first, _ = ticks.split(lambda t: 0, 2, name="split")
    first.sink(tw.collect())
    with pytest.raises(GraphError, match=r"the stream split\[1\] has no consumer"):
        ticks.app.graph()


def test_an_attribute_of_the_tuples_is_not_one_of_the_stream() -> None:
    ticks: Any = source()
    with pytest.raises(AttributeError, match=r"price is an attribute of the tuples of source, not of the stream"):
        ticks.filter(ticks.price > 1)
    with pytest.raises(AttributeError, match="'Stream' object has no attribute 'filtr'"):
        ticks.filtr(lambda t: True)
    assert not hasattr(ticks, "nope")
    assert repr(ticks) == "<stream source of Tick(kind: str, symbol: str, price: float, volume: int)>"
    assert [repr(aggregate) for aggregate in (agg.count(), agg.max("price"))] == ["agg.count()", "agg.max(…)"]
    with pytest.raises(AttributeError, match="no aggregate 'avg': did you mean `mean`"):
        untyped(agg).avg("price")


def test_tuple_types() -> None:
    with pytest.raises(GraphError, match="attribute when of Timed has an unknown type") as caught:

        class Timed(tw.Tuple):
            when: complex

    assert str(caught.value.expected).startswith("int, float, str, bool, bytes, datetime, date, Decimal, T | None")
    assert caught.value.found == "complex"
    with pytest.raises(GraphError, match="attribute volume of Filled has a default value") as caught:

        class Filled(tw.Tuple):
            symbol: str
            volume: int = 0

    assert caught.value.found == "volume = 0"
    with pytest.raises(GraphError, match="attribute name _x of Hidden is reserved"):

        class Hidden(tw.Tuple):
            _x: int


def test_an_error_has_where_expected_found_and_hint() -> None:
    with pytest.raises(GraphError) as caught:
        source().filter(lambda t: t.prise > 1)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("unknown attribute prise  (")
    assert lines[1:] == [
        "  expected: one of kind, symbol, price, volume",
        "  found: prise",
        "  hint: did you mean `price`?",
    ]
    assert caught.value.as_json()["error"] == "graph error"
