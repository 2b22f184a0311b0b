"""Check that helper modules have the same variables in a worker as in the program, which may have changed them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from thalweg.errors import GraphError
from thalweg.ir.definitions import digest
from thalweg.ir.operators import Operator

HelperVariables = Mapping[tuple[str, str], str]  # a digest of each, by module and name


def check_helpers(operator: Operator, expected: HelperVariables) -> None:
    """Reject an operator that would not see the values in the worker that it had when its program was compiled: the
    answer would depend on the plan."""
    for (module, name), known in expected.items():
        if digest(getattr(import_module(module), name, None)) != known:
            raise GraphError(
                f"{module}.{name} has different values in the program and in its workers",
                operator=operator.name,
                where=operator.where,
                expected="variables of helper modules that the program does not change: workers import these modules "
                "from their files",
                hint="set the variable in the module itself, or read it into a variable of the application's module "
                "before the operator",
            )
