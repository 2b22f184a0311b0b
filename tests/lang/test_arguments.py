"""Every argument of every public function is checked when the graph is built.

The functions and their arguments are found by introspection: a new one fails here until it has its wrong values.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import Tick
from thalweg import agg, window
from thalweg.errors import GraphError, ThalwegError
from thalweg.ir.plan_options import PlanOptions
from thalweg.lang import public
from thalweg.library.folds import CONSTRUCTORS

NOT_FOR_USERS = ("with_late", "names")
AT_RUN_TIME = ("seeded",)  # called by users' functions, for each tuple


def functions(owner: Any, *, module: str | None = None) -> Iterator[str]:
    for name, value in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_") and name not in NOT_FOR_USERS and module in (None, value.__module__):
            yield name


STREAM = [f"stream.{name}" for name in functions(tw.Stream)]
APP = ["App", *(f"app.{name}" for name in functions(tw.App))]
TW = [f"tw.{name}" for name in ("run", *public.__all__) if inspect.isfunction(getattr(tw, name))]
WINDOW = [f"window.{name}" for name in functions(window, module=window.__name__)]
AGG = [f"agg.{name}" for name in CONSTRUCTORS]
ALL = [name for name in (*STREAM, *APP, *TW, *WINDOW, *AGG) if name.partition(".")[2] not in AT_RUN_TIME]


class Company(tw.Tuple):
    symbol: str
    company: str


class Passing(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit(t)


KINDS_OF_WINDOWS = ("time", "delta", "punctuation", "punctuations")


class Calls:
    """The functions by name, with valid arguments; each is called with one of them replaced."""

    def __init__(self) -> None:
        self.app = app = tw.App("arguments")
        self.ticks = ticks = app.source(tw.files("ticks"), Tick).event_time("volume")
        other = ticks.map(lambda t: {"symbol": t.symbol, "theirs": t.price, "when": t.volume}).event_time("when")
        rows = window.tumbling(count=2, by="symbol")
        self.valid: dict[str, dict[str, Any]] = {
            "stream.aggregate": {"window": rows, "n": agg.count()},
            "stream.apply": {"window": rows, "function": list, "into": Tick},
            "stream.barrier": {"others": [other.map(lambda t: {"more": t.theirs})]},
            "stream.custom": {"code": lambda t, state, submit: None, "into": Tick},
            "stream.dedup": {"by": "symbol"},
            "stream.delay": {"seconds": 1},
            "stream.event_time": {"attribute": "volume"},
            "stream.export": {"export": "arguments"},
            "stream.feed": {"loop": app.feedback(Tick)},
            "stream.filter": {"predicate": lambda t: True},
            "stream.flat_map": {"function": list, "into": Tick},
            "stream.fuse_with": {"others": [other]},
            "stream.join": {"other": other, "window": window.last(2), "on": "symbol"},
            "stream.lookup": {"table": [Company("A", "a")], "row_type": Company, "on": "symbol"},
            "stream.map": {"function": lambda t: {"n": t.volume}},
            "stream.map_batches": {"function": list, "into": Tick},
            "stream.merge_ordered": {"others": [ticks.filter(lambda t: t.volume > 1)], "on": "volume"},
            "stream.pair": {"others": [ticks.filter(lambda t: t.volume > 1)]},
            "stream.parallel": {},
            "stream.punctor": {"predicate": lambda t: True},
            "stream.sink": {"endpoint": tw.collect()},
            "stream.skyline": {"window": rows, "most": "price"},
            "stream.sort": {"by": ["symbol", "price"], "window": rows},
            "stream.split": {"function": lambda t: 0, "ports": 2},
            "stream.split_randomly": {"shares": [0.5, 0.5], "seed": 1},
            "stream.throttle": {"rate": 1},
            "stream.to_dataframe": {"spark": None, "checkpoint": "ck"},
            "stream.top_k": {"k": 1, "by": ["symbol", "price"], "window": rows},
            "stream.union": {"others": [ticks]},
            "App": {"name": "arguments"},
            "app.feedback": {"tuple_type": Tick},
            "app.imported": {"export": "arguments", "tuple_type": Tick},
            "app.source": {"endpoint": tw.files("ticks"), "tuple_type": Tick},
            "app.start": {"spark": None},
            "tw.beacon": {"function": str},
            "tw.composite": {"function": lambda stream: stream},
            "tw.concat": {"name": "Both", "parts": [Tick]},
            "tw.console": {"live": True},
            "tw.files": {"path": "ticks"},
            "tw.from_dataframe": {"frame": None},
            "tw.iterable": {"items": []},
            "tw.kafka": {"servers": "h:1", "topic": "t"},
            "tw.operator": {"code": Passing(), "streams": [ticks], "into": Tick},
            "tw.param": {"name": "p", "default": 1},
            "tw.postgres": {"dsn": "host=h", "table": "t"},
            "tw.run": {"app": app, "engine": "local"},
            "tw.secret": {"name": "p"},
            "tw.spark": {"format": "rate"},
            "tw.sqlite": {"path": "x.db", "table": "t"},
            "tw.tcp": {"host": "h", "port": 1},
            "window.last": {},
            "window.sliding": {"count": 2},
            "window.tumbling": {"count": 2},
            "window.within": {"time": 2},
            "agg.apply": {"function": len, "argument": "price", "type": int},
            "agg.argmax": {"argument": "price", "picked": "symbol"},
            "agg.argmin": {"argument": "price", "picked": "symbol"},
            "agg.quantile": {"argument": "price", "share": 0.5},
        }

    def function(self, name: str) -> Callable[..., Any]:
        owner, _, method = name.partition(".")
        owners: Mapping[str, Any] = {"stream": self.ticks, "app": self.app, "tw": tw, "window": window, "agg": agg}
        return tw.App if name == "App" else getattr(owners[owner], method)

    def call(self, name: str, argument: str, value: Any) -> Any:
        function = self.function(name)
        parameters = inspect.signature(function).parameters.values()
        given = self.valid.get(name, {p.name: "price" for p in parameters if p.name == "argument"}) | {argument: value}
        if argument in KINDS_OF_WINDOWS and "count" in given:
            del given["count"]  # the window would be of two kinds, whatever the value is
            given |= {"on": "price"} if argument == "delta" else {}
        several = next((p for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        if several is None:
            return function(**given)
        before = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        return function(*before, *given.pop(several.name), **given)


FLAG = [None, "no", 1, 0.5, [True]]
NUMBER = ["1", True, [1], float("nan"), float("inf"), 0, -1, 10**400]
COUNT = ["1", True, 1.0, [1], 0, -1, 2**63]
FUNCTION = [None, 3, "price", [len], lambda: 0, lambda one, other: 0]
TYPE = [3, "Tick", dict, [Tick]]
WORD = [3, True, ["a"], "a b"]
TIME = ["1 s", True, 1.5, [1], -1]
NO_NAMES = [3, True, {"symbol"}, {"symbol": 1}, [1], [["symbol"]], 0, False, b"", b"symbol", ["symbol", "symbol"]]
KEY = [*NO_NAMES, "nope", ["symbol", "nope"], ""]
FLAGS = [None, "no", 1, [True], [True, False, True], [1, 0], {"symbol": True}]
WINDOW_OF_TUPLES = [3, "count", window.tumbling, [window.running()], window.last()]
PATH = [3, True, ["x"]]
TEXT = [3, True, ["x"], b"x"]
POLICY = [None, 3, True, ["fail"], "fial", "FAIL"]

# By the name of the argument; where functions differ, by that of the function too.
WRONG: dict[str, list[Any]] = {
    "name": WORD,
    "on_error": POLICY,
    "by": KEY,
    "key": KEY,
    "window": WINDOW_OF_TUPLES,
    "function": FUNCTION,
    "predicate": FUNCTION,
    "into": TYPE,
    "tuple_type": [None, *TYPE],
    "row_type": [None, *TYPE],
    "others": [[None], [3], [Tick], [[]], ["ticks"]],
    "on": KEY,
    "time": [*TIME, 0],
    "count": COUNT,
    "argument": [None, 3, True, ["price"]],
    "retry_s": NUMBER,
    "path": PATH,
    "table": TEXT,
    "position": FLAG,
    "checkpoint": PATH,
    "follow": FLAG,
    "overwrite": FLAG,
    "max_tuples_per_epoch": COUNT,
    "keep_epochs": COUNT,
    "spark": [None, 3, "local"],
    "help": TEXT,
    "tw.composite function": FUNCTION[:4],
    "export": [None, 3, "a/b", "", ["x"]],
    "via": [3, True, 0, "", "kafka", tw.collect()],
    "endpoint": [None, 3, "ticks", tw.files, [tw.files("x")]],
    "stream.custom state": [sys, list, lambda: 0, [sys], [lambda: 0], (n for n in (1, 2))],
    "delta": ["1", True, [1], -1, float("nan"), timedelta(-1)],
    "punctuation": FLAG,
    "descending": FLAGS,
    "least": FLAGS,
    "code": [None, 3, "x", Passing, lambda t: t],
    "fields": [3, "n", ["n"], {1: agg.count()}, {"m": "volume"}, {"m": None}],
    "format": [None, 3, ["csv"], "cvs"],
    "app.feedback immediate": FLAG,
    "stream.sort buffer": COUNT,
    "stream.top_k k": [None, *COUNT],
    "stream.skyline most": [*KEY, "symbol"],
    "stream.skyline least": [*KEY, "symbol", "price", ["volume", "price"]],
    "stream.dedup within": [*TIME, timedelta(1), 2**61],
    "stream.custom by": KEY,
    "stream.delay seconds": [None, *NUMBER],
    "stream.throttle rate": [None, *NUMBER],
    "stream.event_time attribute": [None, 3, ["volume"], "nope", "price"],
    "stream.event_time lateness": [None, *TIME, timedelta(1), timedelta(0), 2**61, timedelta.max],
    "stream.event_time idle": COUNT,
    "stream.event_time step": [*TIME, 0, timedelta(1), 2**61],
    "stream.feed loop": [None, 3, "loop"],
    "stream.join other": [None, 3, "other"],
    "stream.join window": [None, 3, window.running(), [window.last()]],
    "stream.join mine": [3, window.running(), [window.last()]],
    "stream.join where": [3, "price", [len], lambda pair: True],
    "stream.join band": [
        *(3, "price", ("price",), ("price", "theirs", "1"), (1, "theirs", 1), ("price", 2, 1)),
        *(("price", "theirs", -1), ("price", "theirs", float("nan"))),
    ],
    "stream.join on": [
        *(*KEY[:2], {"symbol"}, [1], "nope", ["symbol", "symbol"]),
        *({"symbol": 1}, {"symbol": "nope"}, {1: "symbol"}),
    ],
    "stream.lookup table": [None, 3, "x", [1], {"A": 1}, set(), [Company("A", 1)], [Company(1, "a")]],
    "stream.lookup missing": [3, ["x"], {}, {"company": 1}, {"nope": "x"}],
    "stream.map_batches library": [None, 3, ["arrow"], "pandas"],
    "stream.merge_ordered on": [None, 3, ["nope"], "nope"],
    "stream.parallel degree": COUNT,
    "stream.parallel key": KEY,
    "stream.punctor before": FLAG,
    "stream.split ports": [None, *COUNT],
    "stream.split_randomly shares": [
        *(None, 1, "12", b"12", {1, 2}, {1: 2}, [True, True], ["1"], [-1, 2], [float("nan")], []),
    ],
    "stream.split_randomly seed": [None, "1", True, 1.5, [1]],
    "app.source partition_by": KEY,
    "tw.beacon shards": COUNT,
    "tw.beacon rate": NUMBER,
    "tw.beacon count": ["1", True, 1.0, [1], -1],
    "tw.concat parts": [[None], [3], [dict], [], [Tick, Tick]],
    "tw.console rows": COUNT,
    "tw.console live": FLAG,
    "tw.console key": [3, True, None, [1]],
    "tw.declare state": ["statefull", 3, True, [1], "", {"a"}],
    "tw.declare selectivity": ["1", True, -1, 1.5, (2, 1), [(1,)]],
    "tw.declare forwards": [3, True, [1], {"a": 1}, ""],
    "tw.declare reads": [3, True, [1], ""],
    "tw.declare effects": [3, True, [1], "nothing", ["nope"]],
    "tw.from_dataframe frame": [None, 3, [1]],
    "split_by": [3, None, True, "", [1], ["a", ""], {"a": 1}, {"a"}, b"x"],
    "tw.iterable items": [None, 3, iter([1]), {1}, lambda n: [n], "ab", b"ab", {"a": 1}],
    "tw.kafka servers": [None, 3, "", ["h:1"]],
    "tw.kafka topic": TEXT,
    "tw.kafka key": TEXT,
    "tw.kafka value": [None, 3, "avro"],
    "tw.kafka starting": [None, 3, "first"],
    "tw.kafka record": [3, True, None, [1], "nope", ["offset", "nope"]],
    "tw.kafka options": [3, "x", ["a"], {1: "x"}, {"a": [1]}],
    "tw.operator streams": [[None], [3], []],
    "tw.operator into": [None, 3, "Tick", [3], [], dict],
    "tw.param default": [[1], {"a": 1}, object],
    "tw.param type": ["int", 3, list, [int]],
    "tw.param secret": FLAG,
    "tw.param name": ["", "a b", 3, None],
    "tw.secret name": ["", "a b", 3, None],
    "tw.postgres dsn": [None, 3, ["x"], "no connection string"],
    "tw.postgres table": [*TEXT, "", "a.b.c"],
    "tw.postgres mode": [None, 3, "replace"],
    "tw.postgres create": FLAG,
    "tw.run app": [None, 3, "app", Tick],
    "tw.run engine": [None, 3, "flink"],
    "tw.run master": [3, True, ["local"]],
    "tw.run conf": [3, "x", ["a"], {"a": 1}, {1: "a"}],
    "tw.run params": [3, "x", ["a"], {1: "a"}],
    "tw.spark format": [None, 3, "", ["x"]],
    "tw.sqlite table": [*TEXT, "", "a\0"],
    "tw.tcp host": [None, 3, "", ["h"]],
    "tw.tcp port": [None, "1", True, 1.0, 0, 65536, [1]],
    "tw.tcp listen": FLAG,
    "window.sliding slide": ["1", True, 1.5, [1], 0, -1, 2**63],
    "window.sliding punctuations": COUNT,
    "window.last count": ["1", True, 1.0, [1], -1],
    "window.sliding on": [3, True, ["volume"], "volume"],
    "window.tumbling on": [3, True, ["volume"], "volume"],
    "agg.apply type": [None, 3, "int", object],
    "agg.argmax picked": [None, 3, True, ["price"]],
    "agg.argmin picked": [None, 3, True, ["price"]],
    "agg.quantile share": [None, "0.5", True, [0.5], -0.1, 1.5, float("nan")],
}
WRONG |= {f"window.{kind} by": NO_NAMES for kind in ("running", "tumbling", "sliding", "last")}
WRONG |= {f"{name} key": WRONG[f"{name} key"] for name in ("tw.kafka", "tw.console")}


def arguments() -> Iterator[tuple[str, str]]:
    calls = Calls()
    for name in ALL:
        for parameter in inspect.signature(calls.function(name)).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue  # fields of an aggregate, options of a plan and of Spark: below
            yield name, parameter.name


def wrong_values(name: str, argument: str) -> list[Any] | None:
    return WRONG.get(f"{name} {argument}", WRONG.get(argument))


def test_every_argument_of_every_function_has_wrong_values() -> None:
    missing = [f"{name} {argument}" for name, argument in arguments() if wrong_values(name, argument) is None]
    assert not missing


CASES = [(n, a, v) for n, a in arguments() for v in wrong_values(n, a) or ()]


def use(name: str, argument: str, value: Any) -> None:
    """Call the function; an aggregate and a window are used then, because their types are checked with the stream."""
    calls = Calls()
    made = calls.call(name, argument, value)
    if name.startswith("agg."):
        calls.ticks.aggregate(window.running(), wrong=made)
    if name.startswith("window.") and name not in ("window.last", "window.within"):
        calls.ticks.aggregate(made, n=agg.count())


@pytest.mark.parametrize(("name", "argument", "value"), CASES, ids=lambda v: v if type(v) is str else repr(v)[:20])
def test_a_wrong_value_is_refused(name: str, argument: str, value: Any) -> None:
    with pytest.raises(GraphError) as caught:
        use(name, argument, value)
    error = caught.value
    assert error.where is not None
    assert error.where.file == __file__
    assert error.expected
    assert error.found or error.hint
    assert "\n" not in error.message


METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "no process": ({}, "has no method process"),
    "process": ({"process": lambda self, t: None}, "process takes other arguments"),
    "on_mark": ({"on_mark": lambda self: None}, "on_mark takes other arguments"),
    "at_end": ({"at_end": lambda self, time: None}, "at_end takes other arguments"),
    "setup": ({"setup": lambda self, path: None}, "setup takes other arguments"),
    "close": ({"close": lambda self: None}, "close takes other arguments"),
    "upgrade": ({"upgrade": lambda self, attributes: attributes}, "upgrade takes other arguments"),
    "version": ({"version": "2"}, "bad version"),
}


@pytest.mark.parametrize("made", ["custom", "operator"])
@pytest.mark.parametrize("name", METHODS)
def test_methods_of_an_operator_class_take_the_arguments_that_they_get(name: str, made: str) -> None:
    members, message = METHODS[name]
    bases = (tw.Operator,) if name == "no process" else (Passing,)
    code, ticks = type("Wrong", bases, members)(), Calls().ticks
    with pytest.raises(GraphError, match=message) as caught:
        ticks.custom(code, Tick) if made == "custom" else tw.operator(code, ticks, into=Tick)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def test_by_belongs_to_the_window() -> None:
    with pytest.raises(GraphError, match="not an aggregate") as caught:
        Calls().ticks.aggregate(window.running(), by="symbol", n=agg.count())  # type: ignore[arg-type]
    assert caught.value.hint == "by= is an argument of the window: window.running(by='symbol')"


def test_the_state_of_an_operator_class_is_not_given_as_an_option() -> None:
    with pytest.raises(GraphError, match="state has no meaning here"):
        Calls().ticks.custom(Passing(), Tick, state=0)


@pytest.mark.parametrize("on", ["price", "symbol"])
def test_a_window_by_time_is_over_a_time(on: str) -> None:
    with pytest.raises(GraphError, match=f"{on} is not a time"):
        Calls().ticks.aggregate(window.tumbling(time=2, on=on), n=agg.count())


class Visit(tw.Tuple):
    at: datetime
    number: int
    page: str
    paid: Decimal


AN_HOUR = timedelta(hours=1)
OTHER_UNITS: dict[str, Callable[[tw.Stream], object]] = {
    "int": lambda s: s.event_time("at").aggregate(window.tumbling(time=2, on="number"), n=agg.count()),
    "datetime": lambda s: s.event_time("number").aggregate(window.tumbling(time=AN_HOUR, on="at"), n=agg.count()),
    "window": lambda s: _renamed(s).aggregate(window.tumbling(time=2), n=agg.count()),
    "dedup": lambda s: _renamed(s).dedup("page", within=2),
    "join": lambda s: s.event_time("number").join(
        _renamed(s).map(lambda t: {"at": t.at, "page": t.page}), window.within(2), on="page"
    ),
}


def _renamed(visits: tw.Stream) -> tw.Stream:
    """The attribute of the event time, but with an int instead of a datetime."""
    return visits.event_time("at").map(lambda t: {"at": t.number, "page": t.page})


@pytest.mark.parametrize("name", OTHER_UNITS)
def test_an_attribute_in_another_unit_than_the_event_time_is_refused(name: str) -> None:
    visits = tw.App("visits").source(tw.files("visits"), Visit)
    with pytest.raises(GraphError, match="is not in the unit of the event time") as caught:
        OTHER_UNITS[name](visits)
    assert caught.value.hint is not None


def test_event_times_in_different_units_are_not_combined() -> None:
    visits = tw.App("visits").source(tw.files("visits"), Visit)
    both = visits.event_time("at").union(visits.event_time("number"))
    with pytest.raises(GraphError, match="has no event time"):
        both.aggregate(window.tumbling(time=2, on="number"), n=agg.count())


@pytest.mark.parametrize("distance", [-1, float("nan"), Decimal(-1), Decimal("NaN"), Decimal("sNaN")])
def test_a_distance_is_not_negative_and_not_nan(distance: Any) -> None:
    visits = tw.App("visits").source(tw.files("visits"), Visit)
    for make in (window.tumbling, window.sliding):
        with pytest.raises(GraphError, match="bad delta"):
            make(delta=distance, on="paid")
    other = visits.map(lambda t: {"price": t.paid})
    with pytest.raises(GraphError, match="bad band"):
        visits.join(other, window.last(2), band=("paid", "price", distance))


OPERATIONS: list[Callable[[Any], Any]] = [
    lambda n: n**2,
    lambda n: 2**n,
    lambda n: n % 2,
    lambda n: n // 2,
    lambda n: -n,
    lambda n: abs(n),
    lambda n: round(n, 2),
    lambda n: float(n),
    lambda n: n > 2,
    lambda n: n or 0,
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_aggregates_are_not_combined_by_is_refused(operation: Callable[[Any], Any]) -> None:
    with pytest.raises(GraphError, match=r"combined only by \+ - \* /") as caught:
        operation(agg.sum("price") / agg.count())
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("tw.spark", "stream.aggregate")])
def test_an_unknown_argument_is_refused(name: str) -> None:
    calls = Calls()
    known = [a for n, a in arguments() if n == name and a not in ("others", "streams", "parts")]
    close = f"{known[-1]}s" if known else "more"
    with pytest.raises(GraphError) as caught:
        calls.call(name, close, 1)
    assert f"has no argument {close}" in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert not known or caught.value.hint == f"did you mean `{known[-1]}`?"


@pytest.mark.parametrize("name", ["stream.map", "stream.top_k", "app.source", "tw.tcp", "agg.sum", "window.within"])
def test_a_missing_argument_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="missing a required") as caught:
        Calls().function(name)()
    assert caught.value.expected is not None
    assert "…" not in caught.value.expected


@pytest.mark.parametrize("argument", ["name", "window", "on_error", "fields"])
def test_a_field_may_be_called_like_an_argument(argument: str) -> None:
    ticks = Calls().ticks
    made = ticks.aggregate(window.running(), {argument: agg.count()}, total=agg.sum("volume"))
    assert made.tuple_type.names == (argument, "total")
    with pytest.raises(GraphError, match=f"{argument} is an argument of aggregate") as caught:
        ticks.aggregate(window.running(), **{argument: agg.count()})  # type: ignore[arg-type]
    assert caught.value.hint == f'aggregate(…, {{"{argument}": …}})'


def test_a_field_that_no_tuple_can_have_is_not_suggested_as_a_dict() -> None:
    with pytest.raises(GraphError, match="self of aggregate is reserved"):
        Calls().ticks.aggregate(window.running(), self=agg.count())


def test_the_arguments_of_a_wrong_function_are_shown() -> None:
    with pytest.raises(GraphError) as caught:
        Calls().ticks.filter(lambda tick, limit: tick.price > limit)  # type: ignore[arg-type, misc]
    assert (caught.value.expected, caught.value.found) == (
        "a function of one tuple",
        "the function <lambda>(tick, limit)",
    )


def test_a_function_that_calls_another_one_is_taken_as_it_is() -> None:
    def cheap(tick: Tick, limit: float) -> bool:
        return tick.price < limit

    @functools.wraps(cheap)
    def below_one(tick: Tick) -> bool:
        return cheap(tick, 1.0)

    ticks = Calls().ticks
    ticks.filter(below_one).filter(functools.partial(cheap, limit=2.0)).filter(lambda tick, limit=3.0: True)  # type: ignore[misc]


def test_fields_are_given_once_and_are_aggregates() -> None:
    ticks = Calls().ticks
    with pytest.raises(GraphError, match="the field n is given twice"):
        ticks.aggregate(window.running(), {"n": agg.count()}, n=agg.count())
    with pytest.raises(GraphError, match="not an aggregate") as caught:
        ticks.aggregate(window.running(), n=agg.count(), on_eror="skip")  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean `on_error`?"


PLAN: Mapping[str, list[Any]] = {
    "degree": ["2", True, 1.5, 0, {"a": 0}],
    "fuse": [None, 3, True],
    "buckets": COUNT,
    "balance": FLAG,
    "rules": [None, 3, "papers"],
    "frame_rows": [None, *COUNT],
    "plan": [3, True, ["x"]],
}


def test_every_option_of_a_plan_is_checked() -> None:
    assert PLAN.keys() == PlanOptions.__annotations__.keys()
    for option, values in PLAN.items():
        for value in values:
            with pytest.raises(ThalwegError) as caught:
                Calls().call("tw.run", option, value)
            assert caught.value.expected


def test_a_composite_refuses_unknown_arguments() -> None:
    @tw.composite
    def cheap(ticks: tw.Stream, limit: float = 1.0) -> tw.Stream:
        return ticks.filter(lambda t: t.price < limit)

    with pytest.raises(GraphError, match="cheap has no argument limt") as caught:
        cheap(Calls().ticks, limt=2.0)  # type: ignore[call-arg]
    assert caught.value.hint == "did you mean `limit`?"
