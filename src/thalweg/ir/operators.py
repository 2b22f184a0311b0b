"""Operators: the vertices of a LogicalGraph."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thalweg.errors import Where
from thalweg.ir.endpoints import SinkEndpoint, SourceEndpoint
from thalweg.ir.expr import Expr, Record, text
from thalweg.ir.types import AttributeType, TupleType


@dataclass(frozen=True, slots=True)
class StreamRef:
    """A stream: one output port of one operator."""

    operator: str
    port: int = 0

    def __str__(self) -> str:
        return self.operator if self.port == 0 else f"{self.operator}[{self.port}]"


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function, with what could be read of it.

    `expr` is its meaning when every operation is on the allow-list; otherwise `opaque_because` says why not.
    """

    callable: Callable[[Any], Any]
    where: Where
    expr: Expr | Record | None = None
    opaque_because: str | None = None

    def fingerprint(self) -> str:
        return text(self.expr) if self.expr is not None else code_fingerprint(self.callable)


def code_fingerprint(function: Callable[..., Any]) -> str:
    """A digest of a function's byte code and constants: the same code gives the same digest in any process."""
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__qualname__", type(function).__qualname__)
    digest = hashlib.sha256()

    def add(part: types.CodeType) -> None:
        digest.update(part.co_code)
        digest.update(repr(part.co_names).encode())
        for constant in part.co_consts:
            if isinstance(constant, types.CodeType):
                add(constant)
            elif isinstance(constant, frozenset):  # `x in {"a", "b"}`: its order changes from process to process
                digest.update(repr(sorted(map(repr, constant))).encode())
            else:
                digest.update(repr(constant).encode())

    add(code)
    return digest.hexdigest()[:16]


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
class Fold:
    """One aggregate over a window: `kind` of an argument (None: of the tuples themselves)."""

    kind: str
    argument: Function | None
    type: AttributeType

    def fingerprint(self) -> str:
        return f"{self.kind}({self.argument.fingerprint() if self.argument else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A vertex. Ports are counted from 0; `outputs` has one tuple type per output port."""

    name: str
    inputs: tuple[StreamRef, ...] = ()
    outputs: tuple[TupleType, ...] = ()
    where: Where = field(compare=False)

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key that partitions this operator's state; None for a stateless operator, () for one global state."""
        return None

    @property
    def output(self) -> StreamRef:
        return StreamRef(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Operator):
    endpoint: SourceEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMap(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Operator):
    """Each tuple goes to the one output port that the function names."""

    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Operator):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """Folds over a window; the output fields are expressions over `Attr(fold_name(i))`."""

    window: Running | Sliding
    folds: tuple[Fold, ...]
    fields: Record

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.window.by


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Port 0's tuples, each with the last tuple of port 1 that has the same key; port 0 is not stored."""

    on: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.on


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Operator):
    endpoint: SinkEndpoint


def fold_name(index: int) -> str:
    """The name under which an aggregate's output expressions see its index-th fold."""
    return f"fold{index}"


def state_fingerprint(operator: Operator) -> str:
    """What must not change for an operator's stored state to stay meaningful."""
    match operator:
        case Aggregate(window=window, folds=folds):
            return f"aggregate v1 {window} {'; '.join(fold.fingerprint() for fold in folds)}"
        case Join(on=on, outputs=outputs):
            return f"join v1 last(1) on {', '.join(on)} {outputs[0].attributes}"
        case _:
            raise ValueError(f"{operator.name} keeps no state")
