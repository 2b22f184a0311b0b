"""The generated code of a PE as a sequence of segments, which pass named streams to each other.

    ticks | trades vwap        a cut before `trades`: the place of a threaded port
    def segment_0(pe, turn):                    def segment_1(pe, turn, ticks):
        ticks = …                                   trades = pe.filter(turn, 'trades', ticks, …)
        return (ticks,)                             …

Without a cut there is one segment. The form with brackets has the same calls between `stack.enter` and `stack.leave`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from thalweg.runtime.pe_program import Bracket


@dataclass(frozen=True, slots=True)
class BracketStep:
    """Lines in one bracket. `inner`: steps in an indented block that the last line opens."""

    bracket: Bracket
    lines: tuple[str, ...]
    inner: tuple[BracketStep, ...] = ()


@dataclass(frozen=True, slots=True)
class CallCode:
    """The code that runs an operator, or a chain of operators, and sends the frames that leave the PE."""

    segment: int
    reads: frozenset[str]  # variables
    writes: str
    steps: tuple[BracketStep, ...]


def brackets_of(calls: Sequence[CallCode]) -> tuple[Bracket, ...]:
    """All brackets, by index."""
    found: dict[Bracket, None] = {}

    def add(step: BracketStep) -> None:
        found[step.bracket] = None
        for inner in step.inner:
            add(inner)

    for call in calls:
        for step in call.steps:
            add(step)
    return tuple(found)


def plain_segments(calls: Sequence[CallCode]) -> list[str]:
    """A function per segment, and the tuple of these functions."""
    return _segments(calls, "segment", "SEGMENTS", "pe, turn", {})


def bracketed_segments(calls: Sequence[CallCode]) -> list[str]:
    indices = {bracket: index for index, bracket in enumerate(brackets_of(calls))}
    return _segments(calls, "bracketed", "BRACKETED", "pe, turn, stack", indices)


def _segments(
    calls: Sequence[CallCode], prefix: str, row: str, parameters: str, indices: dict[Bracket, int]
) -> list[str]:
    functions: list[str] = []
    taken: tuple[str, ...] = ()
    for number, (inside, later) in enumerate(_parted(calls)):
        passed = tuple(name for name in (*taken, *(call.writes for call in inside)) if name in later)
        lines = [line for call in inside for step in call.steps for line in _lines(step, indices)]
        head = f"def {prefix}_{number}({', '.join((parameters, *taken))}):"
        functions.append("\n".join([head, *(f"    {line}" for line in (*lines, f"return {_tuple(passed)}"))]))
        taken = passed
    return [*functions, f"{row} = {_tuple([f'{prefix}_{number}' for number in range(len(functions))])}"]


def _parted(calls: Sequence[CallCode]) -> list[tuple[list[CallCode], set[str]]]:
    """The calls of each segment, and the variables that later segments read."""
    found: list[tuple[list[CallCode], set[str]]] = []
    later: set[str] = set()
    for _, group in groupby(reversed(calls), lambda call: call.segment):
        inside = list(group)[::-1]
        found.append((inside, set(later)))
        later.update(name for call in inside for name in call.reads)
    return found[::-1]


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _lines(step: BracketStep, indices: dict[Bracket, int]) -> list[str]:
    inner = [f"    {line}" for each in step.inner for line in _lines(each, indices)]
    if not indices:
        return [*step.lines, *inner]
    return [f"stack.enter({indices[step.bracket]})", *step.lines, *inner, "stack.leave()"]
