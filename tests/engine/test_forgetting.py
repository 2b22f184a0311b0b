"""Keys that can no longer matter are not kept, and a mark calls only the keys that have something due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.properties.check import difference, run_reference
from tests.properties.check import run_local as run_serially
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import GraphError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic
from thalweg.library.select import Dedup
from thalweg.library.window_join import TimedWindowJoin
from thalweg.optimize.passes import make_plan

COUNT, KEYS = 300, 100


class Row(tw.Tuple):
    time: int
    k: int


def rows(app: tw.App) -> tw.Stream:
    """A new key at every third tuple; a key has three tuples, one right after the other."""
    return app.source(tw.beacon(lambda i: {"time": i, "k": i // 3}, count=COUNT), Row, name="rows")


def timed(app: tw.App) -> tw.Stream:
    return rows(app).event_time("time", name="timed")


def graph_of(build: Callable[[tw.App], tw.Stream]) -> LogicalGraph:
    app = tw.App("forgetting")
    build(app).sink(tw.collect(), name="out")
    return app.graph()


class Stop(Exception):
    pass


def stop_after(epoch: int) -> Callable[[EpochReport], None]:
    def watch(report: EpochReport) -> None:
        if report.epoch == epoch:
            raise Stop

    return watch


def kept(build: Callable[[tw.App], tw.Stream], checkpoint: Path, degree: int = 1) -> int:
    """How many keys of the operator `it` are in the checkpoint before the end of the input."""
    graph = graph_of(build)
    with pytest.raises(Stop):
        run_local(make_plan(graph, degree=degree), RunOptions(checkpoint, max_tuples_per_epoch=40), stop_after(5))
    found = inspect_checkpoint(checkpoint).operator("it").keys
    assert found is not None
    return found


# Whatever is not kept for ever by its definition.


class ThreeThenForget(tw.Operator):
    def __init__(self) -> None:
        self.count = 0

    def process(self, t: Any, port: int) -> None:
        self.count += 1
        if self.count == 3:
            self.forget()


class ForgetLater(tw.Operator):
    def __init__(self) -> None:
        self.first = 0

    def process(self, t: Any, port: int) -> None:
        self.sleep_until(t.time + 9)

    def on_mark(self, time: int) -> None:
        self.forget()


def count_to_three(t: Any, count: int, submit: Callable[..., None]) -> int | None:
    return None if count == 2 else count + 1


def pairs(app: tw.App, *, mine: Any, theirs: Any) -> tw.Stream:
    one = timed(app)
    other = one.map(lambda t: {"when": t.time, "k": t.k}, name="other").event_time("when", name="timed2")
    return one.join(other, theirs, mine=mine, on="k", name="it")


def by_punctuation(app: tw.App, over: Any) -> tw.Stream:
    return rows(app).punctor(lambda t: t.time % 6 == 5, name="punctor").aggregate(over, n=agg.count(), name="it")


FORGETTING: dict[str, Callable[[tw.App], tw.Stream]] = {
    "dedup within": lambda app: timed(app).dedup("k", within=15, name="it"),
    "tumbling time": lambda app: timed(app).aggregate(window.tumbling(time=12, by="k"), n=agg.count(), name="it"),
    "sliding time": lambda app: timed(app).aggregate(
        window.sliding(time=12, slide=3, by="k"), n=agg.count(), name="it"
    ),
    "apply": lambda app: timed(app).apply(window.tumbling(time=12, by="k"), lambda ts: ts[:1], Row, name="it"),
    "join within": lambda app: pairs(app, mine=window.within(12), theirs=window.within(12)),
    "join within last": lambda app: pairs(app, mine=window.within(12), theirs=window.last(2)),
    "join last within": lambda app: pairs(app, mine=window.last(1), theirs=window.within(12)),
    "punctuation": lambda app: by_punctuation(app, window.tumbling(punctuation=True, by="k")),
    "punctuations": lambda app: by_punctuation(app, window.sliding(punctuations=2, by="k")),
    "tumbling count": lambda app: rows(app).aggregate(window.tumbling(count=3, by="k"), n=agg.count(), name="it"),
    "tumbling count in Python": lambda app: rows(app).aggregate(
        window.tumbling(count=3, by="k"), n=agg.distinct("time"), name="it"
    ),
    "barrier": lambda app: rows(app).barrier(
        rows2(app).map(lambda t: {"k": t.k, "x": t.time}, name="x"), by="k", name="it"
    ),
    "pair": lambda app: rows(app).pair(rows2(app), by="k", name="it"),
    "function": lambda app: rows(app).custom(count_to_three, Row, by="k", state=0, name="it"),
    "class": lambda app: rows(app).custom(ThreeThenForget(), Row, by="k", name="it"),
    "operator": lambda app: tw.operator(ThreeThenForget(), rows(app), into=Row, by="k", name="it")[0],
    "class at marks": lambda app: timed(app).custom(ForgetLater(), Row, by="k", name="it"),
}


def rows2(app: tw.App) -> tw.Stream:
    return app.source(tw.beacon(lambda i: {"time": i, "k": i // 3}, count=COUNT), Row, name="rows2")


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("name", FORGETTING)
def test_only_the_keys_that_matter_are_kept(name: str, degree: int, tmp_path: Path) -> None:
    assert kept(FORGETTING[name], tmp_path / "state", degree) <= (6 if name.startswith("dedup") else 9)


KEPT: dict[str, Callable[[tw.App], tw.Stream]] = {
    "dedup": lambda app: rows(app).dedup("k", name="it"),
    "running": lambda app: rows(app).aggregate(window.running(by="k"), n=agg.count(), name="it"),
    "function in place": lambda app: rows(app).custom(in_place, Row, by="k", state=[], name="it"),
}


def in_place(t: Any, state: list[int], submit: Callable[..., None]) -> None:
    state.append(t.time)


@pytest.mark.parametrize("name", KEPT)
def test_what_the_definition_needs_is_kept(name: str, tmp_path: Path) -> None:
    assert kept(KEPT[name], tmp_path / "state") == 80


# A forgotten key starts from the initial state: in the reference and in the engines, however the input is cut.


@pytest.mark.parametrize("cut", [1, 7, COUNT])
@pytest.mark.parametrize("degree", [1, 3])
def test_a_forgotten_key_starts_anew(cut: int, degree: int) -> None:
    graph = graph_of(
        lambda app: app.source(tw.beacon(lambda i: {"time": i, "k": i % 4}, count=60), Row).custom(
            numbered, Row, by="k", state=0, name="it"
        )
    )
    epochs = cut_all(graph, cut)
    expected = run_reference(graph, epochs)
    assert difference(expected, run_serially(make_plan(graph, degree=degree), epochs)) is None
    assert {row[0] for row in expected.answer["out"]} == {0, 1, 2}


def numbered(t: Any, count: int, submit: Callable[..., None]) -> int | None:
    submit(Row(count, t.k))
    return None if count == 2 else count + 1


# A mark calls the keys that have something due.


class Calls(tw.Operator):
    def __init__(self) -> None:
        self.key = 0

    def process(self, t: Any, port: int) -> None:
        self.key = t.k
        self.sleep_until(t.time + 4)

    def on_mark(self, time: int) -> None:
        self.forget()


MARKED = {
    "dedup within": FORGETTING["dedup within"],
    # Folds that are not kept in columns: the others call no objects of keys.
    "tumbling time": lambda app: timed(app).aggregate(
        window.tumbling(time=12, by="k"), n=agg.collect("time"), name="it"
    ),
    "sliding time": lambda app: timed(app).aggregate(
        window.sliding(time=12, slide=3, by="k"), n=agg.collect("time"), name="it"
    ),
    "apply": FORGETTING["apply"],
    "join within": FORGETTING["join within"],
    "join last within": FORGETTING["join last within"],
    "class": lambda app: timed(app).custom(Calls(), Row, by="k", name="it"),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_mark_calls_the_keys_with_something_due(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    graph = graph_of(MARKED[name])
    plan = make_plan(graph)
    logic = type(next(o.logic for o in graph.operators if o.name == "it"))  # type: ignore[attr-defined]
    on_mark = logic.on_mark

    def counted(self: Logic, time: int) -> None:
        calls["calls"] += 1
        on_mark(self, time)

    monkeypatch.setattr(logic, "on_mark", counted)
    run_serially(plan, cut_all(graph, COUNT))
    most = {"sliding time": 6 * KEYS, "join within": 4 * KEYS, "join last within": 4 * KEYS}
    assert KEYS // 2 < calls["calls"] <= most.get(name, 2 * KEYS)


# State of earlier versions.


def test_a_join_within_a_time_reads_the_state_of_version_1() -> None:
    graph = graph_of(FORGETTING["join last within"])
    (operator,) = (o for o in graph.operators if o.name == "it")
    join: Any = operator.logic  # type: ignore[attr-defined]
    assert isinstance(join, TimedWindowJoin)
    held = ([Row(9, 1)], [tw_row(7), tw_row(5)])
    assert join.upgrade({"held": held}, 1) == {"held": held, "oldest": 5}


def tw_row(time: int) -> Any:
    class Other(tw.Tuple):
        when: int
        k: int

    return Other(time, 1)


def test_dedup_stores_what_it_stored_before() -> None:
    assert vars(Dedup()) == {"seen": None}
    assert Dedup.version == 1


# What a function returns.


def contradicting(t: Any, state: list[int], submit: Callable[..., None]) -> None:
    if t.k == 3:
        return None  # noqa: RET501
    state.append(t.k)


def test_none_next_to_a_state_that_is_changed_in_place_is_refused() -> None:
    with pytest.raises(GraphError, match="returns None to remove the state, but never a state"):
        graph_of(lambda app: rows(app).custom(contradicting, Row, by="k", state=[], name="it"))


def implicit(t: Any, state: int, submit: Callable[..., None]) -> int | None:  # type: ignore[return]  # noqa: RET503
    if t.k < 3:
        return state + 1


def bare(t: Any, state: int, submit: Callable[..., None]) -> Any:
    if t.k < 3:
        return  # noqa: RET502
    return state + 1


def in_a_loop(t: Any, state: list[int], submit: Callable[..., None]) -> Any:  # noqa: RET503
    for each in state:
        if each == t.k:
            return state


def in_a_match(t: Any, state: int, submit: Callable[..., None]) -> Any:
    match t.k:
        case 1:
            return state
        case k if k > 3:
            return k


def in_a_handler(t: Any, state: int, submit: Callable[..., None]) -> Any:
    try:
        return state + t.k
    except ValueError:
        submit(t)


def left_by_break(t: Any, state: int, submit: Callable[..., None]) -> Any:
    while True:
        if t.k > state:
            break
        return state


def submitting(t: Any, state: int, submit: Callable[..., None]) -> Any:
    if t.k < 3:
        return submit(t)
    return state + 1


def submitting_or_not(t: Any, state: int, submit: Callable[..., None]) -> Any:
    return state + 1 if t.k < 3 else submit(t)


@pytest.mark.parametrize(
    "function", [implicit, bare, in_a_loop, in_a_match, in_a_handler, left_by_break, submitting, submitting_or_not]
)
def test_a_state_in_some_places_and_no_value_in_others_is_refused(function: Any) -> None:
    with pytest.raises(GraphError, match="returns a state in some places and ends without a value in others") as error:
        graph_of(lambda app: rows(app).custom(function, Row, by="k", state=0, name="it"))
    assert error.value.expected == "`return state` to keep the state of the key, or `return None` to remove it"


def every_end_returns(t: Any, state: int, submit: Callable[..., None]) -> Any:
    def helper() -> None:
        return

    helper()
    with open("/dev/null"):
        try:
            while True:
                for each in range(3):
                    if each == t.k:
                        break
                match state:
                    case 0:
                        return 1
                    case _:
                        break
        except ValueError:
            raise KeyError from None
        finally:
            submit(t)
    if t.k == 1:
        return None
    if t.k == 2:
        return 2
    else:  # noqa: RET505
        assert False  # noqa: B011, PT015


def test_a_function_that_returns_at_every_end_is_accepted() -> None:
    graph_of(lambda app: rows(app).custom(every_end_returns, Row, by="k", state=0, name="it"))


def either(t: Any, state: list[int], submit: Callable[..., None]) -> list[int] | None:
    state.append(t.time)
    submit({"time": len(state), "k": t.k})
    return state if len(state) < 2 else None


def state_or_none(t: Any, state: list[int], submit: Callable[..., None]) -> list[int] | None:
    submit({"time": len(state) + 1, "k": t.k})
    left = [] if state else [t.time]
    return left or None


def returns_submit(t: Any, state: list[int], submit: Callable[..., None]) -> Any:
    state.append(t.time)
    if t.k == 1:
        return submit({"time": len(state), "k": t.k})
    return submit(Row(len(state), t.k)) if t.k else submit({"time": len(state), "k": t.k})


class Counting:
    def __call__(self, t: Any, state: list[int], emit: Callable[..., None]) -> Any:
        state.append(t.time)
        return emit(Row(len(state), t.k))


STATE_FUNCTIONS: dict[str, tuple[Any, list[int]]] = {
    "state or None": (either, [1, 2, 1]),
    "a list or None": (state_or_none, [1, 2, 1]),
    "what submit returns": (returns_submit, [1, 2, 3]),
    "a lambda": (lambda t, state, emit: emit(Row((state.append(t.time), len(state))[1], t.k)), [1, 2, 3]),
    "a callable object": (Counting(), [1, 2, 3]),
    "a method": (Counting().__call__, [1, 2, 3]),
}


@pytest.mark.parametrize("name", STATE_FUNCTIONS)
def test_a_function_returns_a_state_if_any_of_its_values_is_one(name: str) -> None:
    """`return state if … else None` removes the state; `return submit(…)` returns none, and the state is kept."""
    function, counts = STATE_FUNCTIONS[name]
    app = tw.App("returning")
    rows(app).custom(function, Row, by="k", state=[], name="it").sink(tw.collect(), name="out")
    assert [row[0] for row in tw.run(app, engine="local").tuples()] == counts * KEYS


async def waiting(*arguments: Any) -> Any:
    return arguments[0]


def yielding(*arguments: Any) -> Any:
    yield arguments[0]


@pytest.mark.parametrize("function", [waiting, yielding])
def test_a_function_that_does_not_run_when_it_is_called_is_refused(function: Any) -> None:
    found = "line [0-9]+"
    with pytest.raises(GraphError, match=f"does not run when it is called(.|\n)*{function.__name__}, {found}"):
        graph_of(lambda app: rows(app).custom(function, Row, by="k", state=[], name="it"))
    with pytest.raises(GraphError, match="what it returns is always true"):
        graph_of(lambda app: rows(app).filter(function))
