"""Why operators run in one channel although more were asked for, and the declarations that would change it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thalweg.analysis.channel_safety import refusal, rules_of
from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.follow_user_code import followed, tuple_types
from thalweg.ir.facts import UNKNOWN, UNKNOWN_CALL
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Operator
from thalweg.ir.user_code import UserFunction


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A declaration: what it takes to be true, its line, and the function or class that it belongs to."""

    condition: str
    line: str
    code: object

    def __str__(self) -> str:
        return f"if {self.condition}, {_pasted(self.line, self.code)}"


def one_channel_warnings(graph: LogicalGraph, rules: str, degree: int) -> Iterator[str]:
    """A text for each operator that is in one channel only because its code could not be followed."""
    for operator in graph.operators:
        reason = refusal(graph, operator, rules_of(rules))
        suggested = suggestions(graph, operator, rules)
        if reason is not None and suggested:
            hints = "; ".join(str(one) for one in suggested)
            yield f"{operator.name} runs in one channel, not in {degree}: it {reason}; {hints}"


def suggestions(graph: LogicalGraph, operator: Operator, rules: str = "thalweg") -> list[Suggestion]:
    """The declarations that would allow an operator to run in several channels; empty: it may, or none would."""
    facts = facts_of(graph)[operator.name]
    declared = facts.declared is not None and facts.state.because == facts.declared
    if _is_sequential(graph, operator) or (declared and facts.state.kind == UNKNOWN):
        return []  # as the user wants it
    if facts.state.kind == UNKNOWN:
        return _of_state(graph, operator)
    most = rules_of(rules).most
    if most is not None and operator.users_code is not None and any(not one.known for one in facts.selectivity):
        return [
            Suggestion("it emits at most one tuple for each", "tw.declare(selectivity=(0, 1))", operator.users_code)
        ]
    return []


def _is_sequential(graph: LogicalGraph, operator: Operator) -> bool:
    hint = graph.hints.get(operator.name)
    return hint is not None and hint.sequential


def _of_state(graph: LogicalGraph, operator: Operator) -> list[Suggestion]:
    code = operator.users_code
    if operator.key == () and (code is None or operator.mark_port is not None or operator.acts_at_end):
        return []  # one state for all tuples, or marks and the end: one channel in any case
    if code is not None and operator.key:
        condition = "its result depends only on the tuple and on the state of its key"
        return [Suggestion(condition, f"tw.declare(state={operator.key!r})", code)]
    if code is not None:
        return [Suggestion(_ALONE, _NO_STATE, code)]
    parts = followed(operator, tuple_types(graph, operator))
    guilty = [one.code for one in parts if any(e.kind == UNKNOWN_CALL for e in one.notes.effects)]
    return [Suggestion(_ALONE, _NO_STATE, code.function) for code in guilty if isinstance(code, UserFunction)]


_ALONE = "its result depends only on the tuple"
_NO_STATE = 'tw.declare(state="stateless")'


def _pasted(line: str, code: Any) -> str:
    """How a declaration is written: above a function or a class, or around a lambda."""
    if isinstance(code, Logic):
        return f"write @{line} above class {type(code).__name__}"
    while isinstance(code, functools.partial):
        code = code.func
    found = getattr(code, "__code__", None)
    if found is None:
        return f"write {line}(lambda t: …) with a call of {getattr(code, '__name__', type(code).__name__)}"
    if code.__name__ == "<lambda>":
        return f"write {line}(lambda …) around the lambda of line {found.co_firstlineno}"
    return f"write @{line} above {code.__name__}, line {found.co_firstlineno}"
