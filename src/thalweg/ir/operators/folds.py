"""Windows that have kernels, and the aggregates over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.ir.expr import Record
from thalweg.ir.operators.base import Function, code_fingerprint
from thalweg.ir.types import AttributeType, conform


@dataclass(frozen=True, slots=True)
class Running:
    """All tuples of the key so far."""

    by: tuple[str, ...]

    def __str__(self) -> str:
        return "running" + _by(self.by)


@dataclass(frozen=True, slots=True)
class Sliding:
    """The last `count` tuples of the key, seen at every `slide`-th tuple of the key."""

    count: int
    slide: int
    by: tuple[str, ...]

    def __str__(self) -> str:
        slide = f", slide {self.slide}" if self.slide != 1 else ""
        return f"sliding(count {self.count}{slide})" + _by(self.by)


def _by(key: tuple[str, ...]) -> str:
    return f" by {', '.join(key)}" if key else ""


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Blocks of `count` tuples of the key; the last one, at the end, may have fewer."""

    count: int
    by: tuple[str, ...]

    def __str__(self) -> str:
        return f"tumbling(count {self.count})" + _by(self.by)


@dataclass(frozen=True, slots=True)
class Fold:
    """One aggregate over a window: `kind` of an argument (None: of the tuples themselves).

    `picked`: what of the tuple with the least or greatest argument is wanted; `parameter`: of a quantile;
    `function`: of all values, for what the user defines.
    """

    kind: str
    argument: Function | None
    type: AttributeType
    picked: Function | None = None
    parameter: float | None = None
    function: Callable[[list[Any]], Any] | None = None

    def fingerprint(self) -> str:
        stored = f": {self.type!r}" if self.type.boxed else ""
        parts = [self.argument.fingerprint() if self.argument else ""]
        parts += [self.picked.fingerprint()] if self.picked else []
        parts += [repr(self.parameter)] if self.parameter is not None else []
        parts += [code_fingerprint(self.function)] if self.function is not None else []
        return f"{self.kind}({', '.join(parts)}){stored}"

    @property
    def forwards(self) -> bool:
        """Whether its value is one of its argument's values."""
        return self.kind in ("any", "first", "last")

    def value_of(self, row: Any) -> Any:
        """The argument's value for a tuple; a pair, if something else of the tuple is wanted."""
        if self.argument is None:
            return None
        value = self.argument.callable(row)
        expr = self.argument.expr
        if expr is not None and not isinstance(expr, Record):
            value = conform(value, expr.type)
        return value if self.picked is None else (value, conform(self.picked.callable(row), self.type))


def fold_name(index: int) -> str:
    """The name under which an aggregate's output expressions see its index-th fold."""
    return f"fold{index}"
