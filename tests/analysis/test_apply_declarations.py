"""Declarations: on functions, lambdas, classes and as models; they override, and must fit the types."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import thalweg as tw
from tests.analysis.shared_stats import Special, Stats, counts
from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.safety import check_safety
from thalweg.errors import GraphError, ThalwegWarning
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.text import print_plan
from thalweg.lang.read_function import read_function
from thalweg.optimize.passes import make_plan

CACHE: dict[str, int] = {}


class In(tw.Tuple):
    k: str
    a: int


class Out(tw.Tuple):
    k: str
    a: int


def cached(t: Any) -> Any:
    if t.k not in CACHE:
        CACHE[t.k] = len(t.k)
    return {"k": t.k, "a": CACHE[t.k]}


def graph(build: Any) -> LogicalGraph:
    app = tw.App("declared")
    build(app.source(tw.files("nowhere", format="parquet"), In, name="in")).sink(tw.none(), name="out")
    return app.graph()


def facts(build: Any) -> Facts:
    return facts_of(graph(build))["op"]


def test_of_a_function() -> None:
    said = tw.declare(state="stateless")(functools.partial(cached))
    found = facts(lambda s: s.map(said, Out, name="op"))
    assert found.stateless
    assert found.has("mutates")  # what it does is still shown
    assert found.state.because.where.file == __file__


def test_of_a_lambda() -> None:
    said = tw.declare(selectivity=(1, 3), forwards={"k": "k"}, reads="k", effects="none")(lambda t: [cached(t)])
    found = facts(lambda s: s.flat_map(said, Out, name="op"))
    assert str(found.selectivity[0]) == "1..3"
    assert found.forwards == (({"k": "k"},),)
    assert found.writes == (frozenset(("a",)),)
    assert found.reads == (frozenset(("k",)),)
    assert found.effects == ()
    assert found.stateless


def test_a_declared_function_can_still_be_read() -> None:
    @tw.declare(selectivity=1)
    def simple(t: Any) -> Any:
        return {"k": t.k, "a": t.a + 1}

    app = tw.App("declared")
    numbers = app.source(tw.files("nowhere", format="parquet"), In)
    read = read_function(simple, numbers.tuple_type, app.where)
    assert read.expr is not None
    assert facts(lambda s: s.map(simple, name="op")).declared is not None


def test_a_wrapper_does_not_inherit_a_declaration() -> None:
    calls = [0]

    def counted(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(t: Any) -> Any:
            calls[0] += 1
            return {**function(t), "a": calls[0]}

        return wrapper

    wrapped = counted(tw.declare(state="stateless")(lambda t: {"k": t.k, "a": 1}))
    found = facts(lambda s: s.map(wrapped, Out, name="op"))
    assert found.declared is None
    assert found.state.kind == "unknown"


@tw.declare(state="stateless", selectivity=[(0, 1)], forwards="all")
class Declares(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        unknown = getattr(self, "process")  # noqa: B009
        if t.a > 0 and unknown is not None:
            self.submit(t)


class Modelled(tw.Operator):
    def __init__(self, limit: int | None) -> None:
        self.limit = limit

    def model(self) -> Any:
        """As the flags of the paper: by parameter."""
        return tw.declare(state=("k",), selectivity=1 if self.limit is None else (0, 1))

    def process(self, t: Any, port: int) -> None:
        if self.limit is None or t.a < self.limit:
            self.submit(t)


class Wrong(tw.Operator):
    model = 3

    def process(self, t: Any, port: int) -> None:
        self.submit(t)


class Holds(tw.Operator):
    """An object's own `model` is none of ours."""

    def __init__(self) -> None:
        self.model = {"weight": 1}

    def process(self, t: Any, port: int) -> None:
        self.submit({"k": t.k, "a": self.model["weight"]})


def test_of_a_class() -> None:
    found = facts(lambda s: s.custom(Declares(), Out, name="op"))
    assert found.stateless
    assert str(found.selectivity[0]) == "0..1"
    assert found.forwards[0][0] == {"k": "k", "a": "a"}


@pytest.mark.parametrize(("limit", "selectivity"), [(None, "1"), (3, "0..1")])
def test_a_model_by_parameter(limit: int | None, selectivity: str) -> None:
    found = facts(lambda s: s.custom(Modelled(limit), Out, name="op"))
    assert str(found.selectivity[0]) == selectivity
    assert found.state.by == (("k",),)


def test_a_model_that_is_none() -> None:
    with pytest.raises(GraphError, match="the model of Wrong is not a declaration"):
        facts(lambda s: s.custom(Wrong(), Out, name="op"))
    assert facts(lambda s: s.custom(Holds(), Out, name="op")).stateless


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"state": "statelss"}, "did you mean `stateless`?"),
        ({"state": "symbol"}, "if it is an attribute"),
        ({"selectivity": (2, 1)}, "bad selectivity"),
        ({"selectivity": "one"}, "bad selectivity"),
        ({"effects": "tme"}, "did you mean `time`?"),
        ({"reads": [1]}, "bad reads"),
    ],
)
def test_mistakes(said: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as caught:
        tw.declare(**said)
    assert message in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"state": ("kk",)}, "state names kk, which In does not have"),
        ({"forwards": "b"}, "forwards names b, which Out does not have"),
        ({"reads": ("k", "z")}, "reads names z, which In does not have"),
        ({"selectivity": [1, 1]}, "a different number of output ports"),
    ],
)
def test_names_must_be_there(said: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as caught:
        facts(lambda s: s.map(tw.declare(**said)(cached_again()), Out, name="op"))
    assert message in str(caught.value)


def cached_again() -> Any:
    return lambda t: cached(t)


def test_of_what_can_carry_nothing() -> None:
    with pytest.raises(GraphError, match="cannot have a declaration"):
        tw.declare(state="stateless")(len)


# What is refused when a plan is made.


def test_hidden_state_is_refused() -> None:
    with pytest.raises(GraphError) as caught:
        check_safety(graph(lambda s: s.map(cached, Out, name="op")))
    text = str(caught.value)
    assert "the map keeps state that no checkpoint holds  (operator op, " in text
    assert f"test_apply_declarations.py:{cached.__code__.co_firstlineno + 2}" in text
    assert "found: it writes CACHE[t.k]" in text
    assert "@tw.declare" in text


def test_a_given_plan_is_not_a_way_around_the_check() -> None:
    """As `app.start(plan=…)` takes it."""
    safe = graph(lambda s: s.map(tw.declare(state="stateless")(lambda t: cached(t)), Out, name="op"))
    text = print_plan(make_plan(safe))
    assert make_plan(safe, plan=text) == make_plan(safe)
    with pytest.raises(GraphError, match="keeps state that no checkpoint holds"):
        make_plan(graph(lambda s: s.map(cached, Out, name="op")), plan=text)


def test_a_declaration_is_the_way_out() -> None:
    check_safety(graph(lambda s: s.map(tw.declare(state="stateless")(lambda t: cached(t)), Out, name="op")))


class Counting:
    """A callable object that remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = [0]

    def __call__(self, t: Any) -> dict[str, Any]:
        self.calls[0] += 1
        return {"k": "a", "a": 1}


def generated(function: Any) -> LogicalGraph:
    app = tw.App("generated")
    app.source(tw.beacon(function, count=3), In, name="in").sink(tw.none(), name="out")
    return app.graph()


def looped(function: Any) -> LogicalGraph:
    app = tw.App("looped")
    back = app.feedback(In, immediate=True, name="back")
    entering = app.source(tw.files("nowhere"), In, name="in").union(back, name="entering")
    made = entering.map(function, In, name="op")
    made.filter(lambda t: t.a < 0, name="again").feed(back)
    made.sink(tw.none(), name="out")
    return app.graph()


@pytest.mark.parametrize("make", [generated, looped])
def test_a_declaration_counts_for_generators_and_in_loops(make: Any) -> None:
    with pytest.raises(GraphError, match="keeps state that no checkpoint holds"):
        check_safety(make(Counting()))
    check_safety(make(tw.declare(state="stateless")(Counting())))


@pytest.mark.parametrize("function", [cached, lambda t: {"k": t.k, "a": 1}])
def test_a_key_does_not_help_a_function(function: Any) -> None:
    """Its state is in no checkpoint, and nothing routes its tuples: one key would be in several channels."""
    with pytest.raises(GraphError, match="the map declares state by k, but has no such key"):
        facts(lambda s: s.map(tw.declare(state=("k",))(lambda t: function(t)), Out, name="op"))


@pytest.mark.parametrize(("key", "holds"), [((), True), ("k", True), ("a", False), (("k", "a"), False)])
def test_a_declared_key_must_route_the_tuples(key: Any, holds: bool) -> None:
    say = tw.declare(state=("k",))(lambda t, state, submit: submit(t))
    if holds:
        assert facts(lambda s: s.custom(say, Out, by=key, name="op")).state.by == (("k",),)
        return
    with pytest.raises(GraphError, match="the custom declares state by k, but has no such key"):
        facts(lambda s: s.custom(say, Out, by=key, name="op"))


def test_changing_a_tuple_is_refused() -> None:
    def doubled(t: Any) -> Any:
        t.a *= 2
        return t

    with pytest.raises(GraphError, match="the map changes a tuple that other operators may see"):
        check_safety(graph(lambda s: s.map(doubled, Out, name="op")))


def test_a_clock_is_a_warning_once() -> None:
    import time

    def stamped(t: Any) -> Any:
        return {"k": t.k, "a": int(time.time())}

    made = graph(lambda s: s.map(stamped, Out, name="op"))
    with pytest.warns(
        ThalwegWarning, match=r"op depends on the clock \(calls time.time\(\), .*test_apply_declarations.py"
    ):
        check_safety(made)
    check_safety(made)  # warnings are errors here
    check_safety(graph(lambda s: s.map(tw.declare(effects="none")(stamped), Out, name="op")))


# What one operator changes and another reads.


@pytest.mark.parametrize(
    ("read", "changed"),
    [
        (lambda t: {"k": t.k, "a": Stats.total}, True),
        (lambda t: {"k": t.k, "a": Special.total}, True),
        (lambda t: {"k": t.k, "a": Special().total}, True),
        (lambda t: {"k": t.k, "a": Stats.limit}, False),
    ],
)
def test_a_class_attribute_that_another_operator_changes(read: Any, changed: bool) -> None:
    found = facts(lambda s: s.map(counts, Out, name="counts").map(read, Out, name="op"))
    assert found.has("reads_changed") == changed


class Waiting(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit({"k": t.k, "a": t.a})

    def on_mark(self, time: int) -> None:
        self.submit({"k": "", "a": time})


def test_a_class_that_waits_for_marks_that_never_come() -> None:
    def make(build: Any) -> LogicalGraph:
        return graph(lambda s: build(s).custom(Waiting(), Out, by="k", name="op"))

    with pytest.warns(ThalwegWarning, match=r"op \(.*test_apply_declarations.py:\d+\): its on_mark is never called"):
        check_safety(make(lambda s: s))
    check_safety(make(lambda s: s.event_time("a")))  # warnings are errors here
    check_safety(make(lambda s: s.punctor(lambda t: t.a == 0)))
