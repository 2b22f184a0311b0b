"""No verdict is unsafe: random functions are run, in one order and in another, and compared with their facts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import thalweg as tw
from tests.amount import share
from tests.analysis.random_code import Writer, compiled
from thalweg.analysis.program.follow import follow_function
from thalweg.analysis.program.notes import FollowResult
from thalweg.errors import Where
from thalweg.ir.facts import MUTATES, MUTATES_INPUT, NOT_STATELESS
from thalweg.ir.user_code import TUPLES

CHUNK = 50


class In(tw.Tuple):
    k: str
    a: int
    b: int


class Row:
    """A tuple that knows which of its attributes were read."""

    def __init__(self, k: str, a: int, b: int) -> None:
        self.held = {"k": k, "a": a, "b": b}
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.read.add(name)
        return self.held[name]


ROWS = [("x", 0, 1), ("y", 3, 2), ("x", 1, 0), ("z", 2, 5), ("y", 3, 2)]


def outcome(function: Any, row: Row) -> Any:
    """What a call gives; an exception is a result, too."""
    try:
        return [_shown(made, row) for made in function(row)]
    except Exception as error:
        return type(error).__name__


def _shown(made: Any, row: Row) -> Any:
    return dict(row.held) if made is row else dict(made)


def run(source: str, seed: int, order: list[int]) -> tuple[dict[int, Any], dict[int, set[str]], bool]:
    """The results and reads of a fresh function by tuple, and whether anything outside has changed."""
    module = compiled(source, seed)
    function, captured = module["make"]()
    before = _outside(module, function, captured)
    found: dict[int, Any] = {}
    reads: dict[int, set[str]] = {}
    for index in order:
        row = Row(*ROWS[index])
        found[index] = outcome(function, row)
        reads[index] = row.read
    return found, reads, before != _outside(module, function, captured)


def _outside(module: dict[str, Any], function: Any, captured: list[int]) -> str:
    held = module["G_HELD"]
    own = [module["G_LIST"], module["G_DICT"], held.items, held.n, module["Held"].shared]
    return repr([*own, function.__defaults__, captured])


def check(seed: int) -> FollowResult:
    source = Writer(seed).source()
    function, _ = compiled(source, seed)["make"]()
    found = follow_function(function, [In.tuple_type], Where("here.py", 1), use=TUPLES, output=In.tuple_type)
    kinds = {effect.kind for effect in found.notes.effects}
    orders = [list(range(5)), [4, 3, 2, 1, 0], Random(seed).sample(range(5), 5), [2]]
    runs = [run(source, seed, order) for order in orders]
    shown = f"seed {seed}\n{source[source.index('def make') :]}\n{[str(e) for e in found.notes.effects]}"
    if not kinds & set(NOT_STATELESS):
        assert not any(changed for _, _, changed in runs), f"it changed something outside\n{shown}"
        for results, _, _ in runs[1:]:
            assert all(runs[0][0][i] == result for i, result in results.items()), f"it depends on the order\n{shown}"
    if any(changed for _, _, changed in runs):
        assert kinds & set(NOT_STATELESS), shown
    for results, reads, _ in runs:
        for index, result in results.items():
            _check_result(found, result, ROWS[index], shown)
            known = found.notes.reads.get(0, set())
            assert known is None or reads[index] <= known, f"it reads {reads[index]}, not only {known}\n{shown}"
    return found


def _check_result(found: FollowResult, result: Any, given: tuple[Any, ...], shown: str) -> None:
    if isinstance(result, str):
        return  # it failed
    least, most = found.length
    assert least <= len(result), f"{len(result)} tuples, at least {least} were expected\n{shown}"
    assert most is None or len(result) <= most, f"{len(result)} tuples, at most {most} were expected\n{shown}"
    if MUTATES_INPUT in {effect.kind for effect in found.notes.effects} or found.elements is None:
        return
    attributes = dict(zip(("k", "a", "b"), given, strict=True))
    for made in result:
        for name, (_, origin) in found.elements.items():
            if name in made:
                assert made[name] == attributes[origin], f"{name} of {made} is not a copy of {origin}\n{shown}"


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(0, share(10), CHUNK))
def test_no_unsafe_verdict(chunk: int) -> None:
    found = [check(seed) for seed in range(chunk, chunk + CHUNK)]
    stateless = [f for f in found if not {e.kind for e in f.notes.effects} & set(NOT_STATELESS)]
    hidden = [f for f in found if MUTATES in {e.kind for e in f.notes.effects}]
    # Both verdicts must occur, or the test would show nothing.
    assert stateless
    assert hidden
