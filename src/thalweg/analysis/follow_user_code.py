"""The user code in an operator, and the result of following each part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from thalweg.analysis.program.abstract_values import UNKNOWN, Given, InputTuple, New, Value, ValueOf
from thalweg.analysis.program.follow import follow_code, follow_function, follow_logic
from thalweg.analysis.program.notes import FollowResult, Notes
from thalweg.ir.declarations import declared_of_function
from thalweg.ir.facts import NOT_STATELESS, STATELESS
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import (
    Argument,
    ListOf,
    UserClass,
    UserCode,
    UserFunction,
    UserStateFunction,
    is_own,
)


@dataclass(frozen=True, slots=True)
class FollowedCode:
    """A part of the user code, and the result of following it."""

    code: UserCode
    found: FollowResult

    @property
    def notes(self) -> Notes:
        return self.found.notes


def tuple_types(graph: LogicalGraph, operator: Operator) -> tuple[TupleType, ...]:
    """The types of the input ports that take tuples."""
    return tuple(t for port, t in enumerate(graph.input_types(operator)) if port != operator.mark_port)


def followed(operator: Operator, inputs: tuple[TupleType, ...]) -> list[FollowedCode]:
    """All user code in an operator. Code that was read exactly does not need to be followed."""
    return [FollowedCode(code, _follow(code)) for code in operator.code(inputs) if not _is_known(code)]


def _is_known(code: UserCode) -> bool:
    return isinstance(code, UserFunction) and (code.exact or is_own(code.function))


def _follow(code: UserCode) -> FollowResult:
    match code:
        case UserFunction():
            return _follow_function(code)
        case UserStateFunction():
            return follow_code(code.function, code.state, code.input, code.outputs, code.where)
        case UserClass():
            return follow_logic(code.logic, code.inputs, code.outputs, code.where)
    assert_never(code)


def _follow_function(code: UserFunction) -> FollowResult:
    listed = next((one for one in code.arguments if isinstance(one, ListOf)), None)
    found = follow_function(
        code.function,
        [one if isinstance(one, TupleType) else _value(one) for one in code.arguments],
        code.where,
        use=code.use,
        output=code.output,
        holding=None if listed is None else {_LIST: _item(listed)},
    )
    return found if code.main else _with_declared(code, found)


# A list that only the called function holds.
_LIST: Value = frozenset((New((0, 0, "given"), list),))


def _value(argument: Argument) -> Value:
    if isinstance(argument, ListOf):
        return _LIST
    return frozenset((ValueOf(argument),)) if isinstance(argument, type) else UNKNOWN


def _item(given: ListOf) -> Value:
    match given.item:
        case None:
            return UNKNOWN
        case TupleType() as kind:
            return frozenset((InputTuple(kind, -1),))
        case kind:
            return frozenset((Given(kind, "", -1),))


def _with_declared(code: UserFunction, found: FollowResult) -> FollowResult:
    """A declaration of a single function applies wherever the function is called."""
    declared = declared_of_function(code.function)
    if declared is not None and declared.effects is not None:
        found.notes.effects = {e: None for e in found.notes.effects if e.kind in declared.effects}
    elif declared is not None and declared.state == STATELESS:
        found.notes.effects = {e: None for e in found.notes.effects if e.kind not in NOT_STATELESS}
    return found
