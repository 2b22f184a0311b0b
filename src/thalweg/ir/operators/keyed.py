"""Stateful operators that have kernels."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from thalweg.ir.expr import Record
from thalweg.ir.operator_model import AT_MOST_ONE, Model, fold_reads, key_folds, same
from thalweg.ir.operators.base import Operator
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode, fold_code
from thalweg.ir.windows import Window

if TYPE_CHECKING:
    from thalweg.ir.folds import Fold  # which imports from this package


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """Folds over a window; the output fields are expressions over `Attr(fold_name(i))`."""

    window: Window
    folds: tuple[Fold, ...]
    fields: Record

    counts_emissions: ClassVar[bool] = False
    users_code = None
    mark_port = None
    mark_output = None
    makes_marks = False
    late_ports = range(0)
    time_lengths = ()
    placing_ports = range(1)

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.window.by

    def port_key(self, port: int) -> tuple[str, ...] | None:
        return self.window.by

    @property
    def state_text(self) -> str:
        return str(self.window)

    def state_fingerprint(self) -> str:
        return f"aggregate v1 {self.window} {'; '.join(fold.fingerprint() for fold in self.folds)}"

    @property
    def acts_at_end(self) -> bool:
        return self.window.acts_at_end

    @property
    def ranks_keys(self) -> bool:
        return self.acts_at_end

    @property
    def facts_cover_end(self) -> bool:
        return True  # a window that the end closes has a key like any other

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        counts, why = self.window.results
        copies = key_folds(self.folds, self.fields, self.window.by)
        return Model(why, (counts,), ((copies,),), (fold_reads(self.folds, self.window.reads),))

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        arguments = (fold.argument.reads(names) for fold in self.folds if fold.argument)
        return set(self.window.reads).union(*arguments)

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return fold_code(self.folds, inputs[0], self.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Joins each tuple of port 0 with the last tuple of port 1 that has the same key; port 0 is not stored."""

    on: tuple[str, ...]

    counts_emissions: ClassVar[bool] = False
    users_code = None
    mark_port = None
    mark_output = None
    makes_marks = False
    acts_at_end = False
    ranks_keys = False
    late_ports = range(0)
    time_lengths = ()
    placing_ports = range(1)  # only tuples of port 0 make it emit tuples

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.on

    def port_key(self, port: int) -> tuple[str, ...] | None:
        return self.on

    @property
    def state_text(self) -> str:
        return f"last tuple by {', '.join(self.on)}"

    def state_fingerprint(self) -> str:
        return f"join v1 last(1) on {', '.join(self.on)} {self.outputs[0].attributes}"

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        copies = (same(self.outputs[0], inputs[0]), {name: name for name in self.on})
        keys = frozenset(self.on)
        why = "a tuple is joined with the last tuple of its key, if any"
        return Model(why, (AT_MOST_ONE,), (copies,), (keys, keys), can_fail=False)

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return (live & names) | set(self.on)

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()
