"""The stored tables of a PE's operators with state, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.ir.completeness import complete
from thalweg.ir.operators import OPERATORS, Aggregate, Join, Operator, Process
from thalweg.runtime import aggregate, join
from thalweg.runtime.pane_folds import Numbers, PaneFold, pane_folds
from thalweg.runtime.pane_table import PaneTable
from thalweg.runtime.pe_program import Program
from thalweg.runtime.pickles import type_table
from thalweg.runtime.records import ObjectTable
from thalweg.runtime.resources import Resources
from thalweg.runtime.state import Stored


class TableMaker:
    """Makes the empty tables of an epoch. What they need from the program is derived once."""

    def __init__(self, program: Program, resources: Resources) -> None:
        self._makers: dict[str, Callable[[], Stored]] = {
            name: TABLES[type(operator)](program, operator, resources)
            for name, operator in program.operators.items()
            if operator.key is not None
        }

    def make(self) -> Mapping[str, Stored]:
        return {name: make() for name, make in self._makers.items()}


def _aggregate(program: Program, operator: Aggregate, resources: Resources) -> Callable[[], Stored]:
    (tuple_type,) = program.input_types[operator.name]
    kinds = [tuple_type.kind(n) for n in operator.window.by]
    return lambda: aggregate.make_table(operator, kinds)


def _join(program: Program, operator: Join, resources: Resources) -> Callable[[], Stored]:
    columns = program.tables[operator.name]
    return lambda: join.make_table(columns)


def _process(program: Program, operator: Process, resources: Resources) -> Callable[[], Stored]:
    if (folds := pane_folds(operator)) is not None:
        return _panes(operator, folds)
    inner = () if operator.library is None else operator.library.inner_types  # of the operators in a loop
    types = type_table([*operator.outputs, *inner, *program.input_types[operator.name]])
    return lambda: ObjectTable(operator, types, resources.of(operator))


def _panes(operator: Process, folds: Sequence[PaneFold]) -> Callable[[], Stored]:
    numbered = operator.logic.config.window.shares_panes
    columns = {name: column for fold in folds for name, column in fold.blank.items()}
    if numbered:
        columns |= Numbers.blank
    ranks = len(operator.key) + 1 if operator.key else 0
    return lambda: PaneTable(columns, ranks, numbered=numbered)


# For all kinds that can have a key. A missing one fails at import, with its name.
TABLES: Mapping[type[Operator], Callable[[Program, Any, Resources], Callable[[], Stored]]] = complete(
    {Aggregate: _aggregate, Join: _join, Process: _process},
    (kind for kind in OPERATORS.values() if kind.key is not None),
    "the tables of operators with state",
)
