"""The event time of tuples that come from several places: sources, and the concurrent splits of a source.

    a ─┐                                           a ─┐
       ├─ union ─ map ─ event_time ─ windows          ├─ union ─ map ─ event_time ──────────── windows
    b ─┘                                           b ─┘                     └─ event_time.marks ─┘

If tuples of several origins reach an `event_time`, it emits the event time of each origin, and the `marks` operator
after it their minimum. Which origin a tuple has follows from its order key: the entries write it there. If there is one
origin, nothing is changed. A source that finds its splits while it runs may have several.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from thalweg.ir import operators as ops
from thalweg.ir.operators import ORIGIN_MARK, Operator, StreamRef
from thalweg.lang.operator_call import marks_operator
from thalweg.library.multi_port import LeastTime, LeastTimeConfig, Origin


def combine_origins(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The operators with a minimum over the origins of each event time, and without idleness where there is only one:
    its answer must not depend on where epochs are cut."""
    reaching = _entries_by_operator(operators)
    combined = [o if _are_several(reaching[o.name]) else _without_idle(o) for o in operators]
    used = {stream for o in combined for stream in o.inputs}
    split = {
        o.name
        for o in combined
        if isinstance(o, ops.EventTime) and StreamRef(o.name, 1) in used and _are_several(reaching[o.name])
    }
    if not split:
        return tuple(combined)
    numbers = _numbers(operators, {entry.name for name in split for entry in reaching[name]})
    taken = {o.name for o in operators}
    made: list[Operator] = []
    moved: dict[StreamRef, StreamRef] = {}
    for operator in combined:
        operator = replace(operator, inputs=tuple(moved.get(s, s) for s in operator.inputs))
        if isinstance(operator, ops.Entry):
            operator = replace(operator, origin=numbers.get(operator.name, 0))
        made.append(operator)
        if isinstance(operator, ops.EventTime) and operator.name in split:
            made[-1] = replace(operator, outputs=(operator.outputs[0], ORIGIN_MARK), by_origin=True)
            marks = StreamRef(operator.name, 1)
            logic = LeastTime()
            logic.config = LeastTimeConfig(_named(reaching[operator.name], numbers, operator.idle))
            made.append(marks_operator(_free(f"{operator.name}.marks", taken), (marks,), logic, operator.where))
            moved[marks] = made[-1].output
    return tuple(made)


def _entries_by_operator(operators: tuple[Operator, ...]) -> dict[str, tuple[ops.Entry, ...]]:
    """The sources and loops whose tuples reach each operator."""
    found: dict[str, tuple[ops.Entry, ...]] = {}
    for operator in operators:
        arriving = [entry for stream in operator.inputs for entry in found[stream.operator]]
        found[operator.name] = (operator,) if isinstance(operator, ops.Entry) else tuple(_distinct(arriving))
    return found


def _distinct(entries: list[ops.Entry]) -> Iterable[ops.Entry]:
    return {entry.name: entry for entry in entries}.values()


def _are_several(entries: Iterable[ops.Entry]) -> bool:
    """Whether the tuples of these entries have several origins, or may have."""
    return sum(entry.origins for entry in entries) > 1 or any(entry.finds_splits for entry in entries)


def _numbers(operators: tuple[Operator, ...], wanted: set[str]) -> dict[str, int]:
    """The number of the first origin of each entry. Zero is the origin of what operators emit at the end."""
    numbers, number = dict[str, int](), 1
    for operator in operators:
        if isinstance(operator, ops.Entry) and operator.name in wanted:
            numbers[operator.name] = number
            number += operator.origins
    return numbers


def _named(entries: Iterable[ops.Entry], numbers: dict[str, int], idle: int | None) -> dict[tuple[int, int], Origin]:
    """The origins of an event time. State has their names, because their numbers change with the graph."""
    return {
        (0, numbers[entry.name] + split): Origin(
            entry.name if entry.origins == 1 else f"{entry.name}/{split}", idle, entry.finds_splits
        )
        for entry in entries
        for split in range(entry.origins)
    }


def _without_idle(operator: Operator) -> Operator:
    if not isinstance(operator, ops.Process) or not isinstance(operator.logic, LeastTime):
        return operator
    logic = LeastTime()
    origins = operator.logic.config.origins
    logic.config = LeastTimeConfig({place: replace(origin, idle=None) for place, origin in origins.items()})
    return replace(operator, logic=logic)


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}{number}"
    taken.add(found)
    return found
