"""Functions that end with `sys.exit()`, or raise something else that is not an `Exception`, fail as others do.

A panic of a native package (Polars, tokenizers …) is such an exception.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.properties.check import count_difference, difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.errors import ResourceError, TupleError
from thalweg.optimize.passes import make_plan


class Number(tw.Tuple):
    n: int


class Panic(BaseException):
    """As Rust's panics are in Python."""


def leave(n: int) -> int:
    if n == 3:
        sys.exit("three")
    if n == 5:
        raise Panic("five")
    return n


def fail_rows(t: Any) -> Iterator[dict[str, int]]:
    yield {"n": leave(t.n)}


def fail_batch(batch: pa.Table) -> pa.Table:
    for n in batch["n"].to_pylist():
        leave(n)
    return batch


def with_state(t: Any, state: int, submit: Callable[[Any], None]) -> int:
    submit({"n": leave(t.n) + 0 * state})
    return state + 1


class AtMarks(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.n = t.n

    def on_mark(self, time: int) -> None:
        self.submit({"n": leave(self.n)})


class AtEnd(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.n = t.n

    def at_end(self) -> None:
        self.submit({"n": leave(self.n)})


Build = Callable[[tw.Stream, Any], tw.Stream]
OPERATORS: dict[str, Build] = {
    "map": lambda s, policy: s.map(lambda t: {"n": leave(t.n)}, Number, on_error=policy),
    "filter": lambda s, policy: s.filter(lambda t: leave(t.n) >= 0, on_error=policy),
    "flat_map": lambda s, policy: s.flat_map(fail_rows, Number, on_error=policy),
    "map_batches": lambda s, policy: s.map_batches(fail_batch, Number, on_error=policy),
    "split": lambda s, policy: s.split(lambda t: leave(t.n) * 0, 1, on_error=policy)[0],
    "punctor": lambda s, policy: s.punctor(lambda t: leave(t.n) > 4, on_error=policy),
    "agg.apply": lambda s, policy: s.aggregate(
        window.tumbling(count=1), n=agg.apply(lambda found: leave(found[0]), "n", int), on_error=policy
    ),
    "apply": lambda s, policy: s.apply(
        window.tumbling(count=1), lambda found: [{"n": leave(t.n)} for t in found], Number, on_error=policy
    ),
    "custom": lambda s, policy: s.custom(with_state, Number, by="n", state=0, on_error=policy),
    "marks": lambda s, policy: s.event_time("n").custom(AtMarks(), Number, by="n", on_error=policy),
    "end": lambda s, policy: s.custom(AtEnd(), Number, by="n", on_error=policy),
    "join": lambda s, policy: s.join(
        s.map(lambda t: {"m": t.n}), window.last(1), where=lambda a, b: leave(a.n) == b.m, on_error=policy
    ),
}


@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_functions(kind: str, policy: str) -> None:
    app = tw.App("exits")
    made = OPERATORS[kind](app.source(tw.beacon(lambda i: {"n": i}, count=8), Number, name="numbers"), policy)
    made.sink(tw.collect(), name="out")
    if policy == "dead_letter":
        made.dead_letters.map(lambda t: {"error": t.error}).sink(tw.collect(), name="letters")
    graph = app.graph()
    epochs = cut_all(graph, 3)
    expected = run_reference(graph, epochs)
    assert (expected.error is not None) == (policy == "fail")
    if expected.error is not None:
        assert expected.error.message == "SystemExit: three"
    for fuse in ("all", "none"):
        found = run_local(make_plan(graph, fuse=fuse, degree=2), epochs)
        assert difference(expected, found) is None
        assert count_difference(graph, expected, found) is None


@pytest.mark.parametrize("degree", [1, 2])
def test_sources(degree: int) -> None:
    def items() -> Iterator[dict[str, int]]:
        for n in range(8):
            yield {"n": leave(n)}

    given = tw.declare(state="stateless")(lambda i: {"n": leave(i)})
    for source in (tw.iterable(items), tw.beacon(given, count=8)):
        app = tw.App("exits")
        app.source(source, Number, name="numbers").sink(tw.collect())
        with pytest.raises(TupleError, match="SystemExit: three") as failed:
            tw.run(app, engine="local", degree=degree)
        assert failed.value.operator == "numbers"


class Opens(tw.Operator):
    def __init__(self, fails_in: str) -> None:
        self.fails_in = fails_in

    def setup(self) -> None:
        if self.fails_in == "setup":
            sys.exit(3)

    def process(self, t: Any, port: int) -> None:
        self.submit(t)

    def close(self, resource: Any) -> None:
        if self.fails_in == "close":
            sys.exit(3)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("method", ["setup", "close"])
def test_setup_and_close(method: str, degree: int) -> None:
    app = tw.App("exits")
    numbers = app.source(tw.beacon(lambda i: {"n": i}, count=8), Number)
    numbers.custom(Opens(method), Number, by="n", name="opens").sink(tw.collect())
    with pytest.raises(ResourceError, match=f"`{method}` of opens failed: SystemExit: 3"):
        tw.run(app, engine="local", degree=degree)


class Assigns(tw.Operator):
    """Its `setup` returns nothing: what it assigns, the objects of the keys do not have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def setup(self) -> None:
        setattr(self, self.name, 10)

    def process(self, t: Any, port: int) -> None:
        self.submit(t)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("name", ["resource", "client", "count"])
def test_setup_that_assigns_attributes(name: str, degree: int) -> None:
    app = tw.App("exits")
    numbers = app.source(tw.beacon(lambda i: {"n": i}, count=8), Number)
    numbers.custom(Assigns(name), Number, by="n", name="assigns").sink(tw.collect())
    with pytest.raises(ResourceError, match=f"`setup` of assigns assigns {name}"):
        tw.run(app, engine="local", degree=degree)
