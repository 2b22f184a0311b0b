"""A submitted tuple is that of the moment when it was submitted, whatever the code does with its lists and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import window
from thalweg.errors import TupleError
from thalweg.optimize.passes import make_plan


class Number(tw.Tuple):
    key: str
    n: int


class Batch(tw.Tuple):
    numbers: list[int]


class InTwos(tw.Operator):
    def __init__(self) -> None:
        self.numbers: list[int] = []

    def process(self, t: Number, port: int) -> None:
        self.numbers.append(t.n)
        if len(self.numbers) == 2:
            self.submit({"numbers": self.numbers})
            self.numbers.clear()

    def at_end(self) -> None:
        self.submit(Batch(self.numbers))
        self.numbers.clear()


class AtMarks(InTwos):
    def process(self, t: Number, port: int) -> None:
        self.numbers.append(t.n)

    def on_mark(self, time: int) -> None:
        self.at_end()


def in_twos(t: Number, numbers: list[int], submit: Callable[[Any], None]) -> None:
    numbers.append(t.n)
    if len(numbers) == 2:
        submit(Batch(numbers))
        numbers.clear()


def one_dict(t: Number, made: dict[str, Any], submit: Callable[[Any], None]) -> None:
    for n in range(2):
        made["numbers"] = [n, t.n]
        submit(made)


def growing(numbers: Iterable[Number]) -> Iterator[Batch]:
    found: list[int] = []
    for number in numbers:
        found.append(number.n)
        yield Batch(found)


def in_a_loop(stream: tw.Stream) -> tw.Stream:
    loop = stream.app.feedback(Number, immediate=True, name="loop")
    both = stream.union(loop, name="both")
    both.filter(lambda t: t.n == 9, name="nine").feed(loop)
    return both.custom(InTwos(), Batch, by="key", name="made")


CASES: dict[str, tuple[Callable[[tw.Stream], tw.Stream], list[list[int]]]] = {
    "class": (lambda s: s.custom(InTwos(), Batch, by="key", name="made"), [[0, 2], [1, 3], [4], []]),
    "marks": (lambda s: s.event_time("n").custom(AtMarks(), Batch, by="key", name="made"), []),
    "function": (lambda s: s.custom(in_twos, Batch, by="key", state=[], name="made"), [[0, 2], [1, 3]]),
    "dict": (
        lambda s: s.custom(one_dict, Batch, by="key", state={}, name="made"),
        [[m, n] for n in range(5) for m in range(2)],
    ),
    "apply": (
        lambda s: s.apply(window.tumbling(count=2), growing, Batch, name="made"),
        [[0], [0, 1], [2], [2, 3], [4]],
    ),
    "immediate loop": (in_a_loop, [[0, 2], [1, 3], [4], []]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_submitted_does_not_change(case: str) -> None:
    build, wanted = CASES[case]
    app = tw.App("submissions")
    numbers = app.source(tw.beacon(lambda n: Number("ab"[n % 2], n), count=5), Number, name="numbers")
    build(numbers).sink(tw.collect(), name="out")
    graph = app.graph()
    epochs = cut_all(graph, 2)
    expected = run_reference(graph, epochs)
    found = [list(numbers) for (numbers,) in expected.answer["out"]]
    if case == "marks":
        assert sorted(n for numbers in found for n in numbers) == list(range(5))
    else:
        assert found == wanted
    for degree in (1, 2):
        plan = make_plan(graph, degree=degree, buckets=3)
        assert difference(expected, run_local(plan, epochs, through_bytes=True)) is None


class Ranked(tw.Operator):
    def __init__(self, rank: Any) -> None:
        self.rank = rank

    def process(self, t: Number, port: int) -> None:
        pass

    def at_end(self) -> None:
        self.submit(Batch([]), rank=self.rank)


@pytest.mark.parametrize("rank", [0.5, None, "a", True, 2**63])
def test_a_rank_is_a_whole_number(rank: Any) -> None:
    """A float would be rounded wherever channels meet, so the order would depend on their number."""
    app = tw.App("ranks")
    numbers = app.source(tw.iterable([Number("a", 1)]), Number, name="numbers")
    numbers.custom(Ranked(rank), Batch, by="key", name="made").sink(tw.collect(), name="out")
    with pytest.raises(TupleError, match="submit: expected a 64-bit int as rank, found") as failed:
        tw.run(app, engine="local")
    assert failed.value.operator == "made"
