"""What users may say about a plan, at random: it must not change the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.hints import Hint
from thalweg.ir.operators import Feedback, Operator, Sink, Source

Control = tuple[tuple[int, str, int], ...]
KINDS = ("parallel", "parallel", "by key", "sequential", "fuse_with", "isolate", "unordered")


def controls() -> SearchStrategy[Control]:
    one = st.tuples(st.integers(0, 20), st.sampled_from(KINDS), st.integers(0, 7))
    return st.one_of(st.just(()), st.lists(one, min_size=1, max_size=4).map(tuple))


def hints(graph: LogicalGraph, said: Sequence[tuple[int, str, int]]) -> dict[str, Hint]:
    """What is said, for whatever graph comes: numbers are taken modulo what it has."""
    made: dict[str, Hint] = {}
    operators = [o for o in graph.operators if not isinstance(o, Sink | Feedback)]
    for index, kind, number in said:
        operator = operators[index % len(operators)]
        found = _said(graph, operator, kind, number, operators[(index + number) % len(operators)].name)
        held = made.get(operator.name, Hint(where=operator.where))
        against = held.sequential if "parallel" in found else held.parallel if "sequential" in found else False
        if not against:
            made[operator.name] = replace(held, **found)
    return made


def _said(graph: LogicalGraph, operator: Operator, kind: str, number: int, other: str) -> dict[str, Any]:
    match kind:
        case "parallel" if operator.key != ():
            return {"parallel": True, "degree": number or None}
        case "by key" if operator.key:
            return {"parallel": True, "key": operator.key[number % len(operator.key) :]}
        case "by key" if operator.key is None and not isinstance(operator, Source):
            kinds = [graph.type_of(stream) for stream in operator.inputs]
            shared = [n for n in kinds[0].names if all(k.get(n) is not None for k in kinds)]
            return {"parallel": True, "key": tuple(shared[: 1 + number % 2])}
        case "sequential" | "isolate":
            return {kind: True}
        case "unordered":
            return {"unordered": (number % len(operator.outputs),)}
        case "fuse_with" if other != operator.name:
            return {"fuse_with": (other,)}
    return {}
