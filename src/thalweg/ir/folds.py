"""A fold: one aggregate over a window. What each kind of fold computes is in `thalweg.library.folds`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thalweg.ir.expr import Record
from thalweg.ir.operators.base import Function, code_fingerprint
from thalweg.ir.types import AttributeType, conform


@dataclass(frozen=True, slots=True)
class Fold:
    """One aggregate over a window: `kind` of an argument (None: of the tuples themselves).

    `picked`: the value to return from the tuple with the least or greatest argument; `parameter`: the parameter of a
    quantile; `function`: a user-defined function of all values.
    """

    kind: str
    argument: Function | None
    type: AttributeType
    picked: Function | None = None
    parameter: float | None = None
    function: Callable[[list[Any]], Any] | None = None
    forwards: bool = field(default=False, compare=False)  # whether its result for a key attribute is a copy of the key

    def fingerprint(self) -> str:
        stored = f": {self.type!r}" if self.type.boxed else ""
        parts = [self.argument.fingerprint() if self.argument else ""]
        parts += [self.picked.fingerprint()] if self.picked else []
        parts += [repr(self.parameter)] if self.parameter is not None else []
        parts += [code_fingerprint(self.function)] if self.function is not None else []
        return f"{self.kind}({', '.join(parts)}){stored}"

    @property
    def result_path(self) -> str:
        """What an error calls the result of a user's function."""
        return f"the result of {getattr(self.function, '__name__', 'agg.apply')}"

    def value_of(self, row: Any) -> Any:
        """The argument's value for a tuple; with `picked`, a pair of the argument's value and the picked one."""
        if self.argument is None:
            return None
        value = self.argument.callable(row)
        expr = self.argument.expr
        if expr is not None and not isinstance(expr, Record):
            value = conform(value, expr.type)
        return value if self.picked is None else (value, conform(self.picked.callable(row), self.type))


def fold_name(index: int) -> str:
    """The name by which an aggregate's output expressions refer to its index-th fold."""
    return f"fold{index}"
