"""The stored tables of a PE's operators with state, by name."""

from __future__ import annotations

from thalweg.ir.operators import Aggregate, Join, Process
from thalweg.runtime import aggregate, join
from thalweg.runtime.pickles import type_table
from thalweg.runtime.program import Program
from thalweg.runtime.records import ObjectTable, resource_of
from thalweg.runtime.state import Stored


def tables_of(program: Program) -> dict[str, Stored]:
    made: dict[str, Stored] = {}
    for name, operator in program.operators.items():
        if isinstance(operator, Aggregate):
            (tuple_type,) = program.input_types[name]
            made[name] = aggregate.make_table(operator, [tuple_type.kind(n) for n in operator.window.by])
        elif isinstance(operator, Join):
            made[name] = join.make_table(program.tables[name])
        elif isinstance(operator, Process) and operator.by is not None:
            inner = getattr(operator.logic, "inner_types", ())  # of the operators in a loop
            types = type_table([*program.input_types[name], *operator.outputs, *inner])
            made[name] = ObjectTable(operator, types, resource_of(program, operator))
    return made
