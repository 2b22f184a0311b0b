"""Operators written in Python: those of `thalweg.library`, and user-defined ones."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import Logic, acts_at_end, acts_on_marks
from thalweg.ir.operator_model import Model
from thalweg.ir.operators.base import Operator
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserClass, UserCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Operator):
    """Python code that processes the tuples of all ports one at a time in the order of their positions.

    `by` has the key attributes of each port that takes tuples; None: no state. The last input port takes marks if
    `marked`; the output port after those of `results` forwards them. The classes of the library declare their
    properties, so that no other code depends on them.
    """

    word: str
    logic: Logic = field(compare=False)
    by: tuple[tuple[str, ...], ...] | None
    marked: bool = False
    timed: bool = False  # marks carry event time: one that does not advance it is ignored
    results: int = 1

    counts_emissions: ClassVar[bool] = True

    def result_type(self, port: int) -> TupleType:
        """The type of an output port that code may submit to; ports for marks and dead letters follow."""
        if type(port) is not int or not 0 <= port < self.results:
            raise ValueError(f"expected a port in 0..{self.results - 1}, found {port!r}")
        return self.outputs[port]

    @property
    def kind(self) -> str:
        return self.word

    @property
    def library(self) -> LibraryLogic | None:
        """The logic, if it belongs to Thalweg."""
        return self.logic if isinstance(self.logic, LibraryLogic) else None

    @property
    def users_code(self) -> object | None:
        return self.logic if self.library is None else self.library.users_code

    @property
    def key(self) -> tuple[str, ...] | None:
        return None if self.by is None else self.by[0]

    def port_key(self, port: int) -> tuple[str, ...] | None:
        return None if self.by is None or port == self.mark_port else self.by[port]

    def state_fingerprint(self) -> str:
        # The state of user-defined logic has its own version, and an `upgrade` method.
        settings = "" if self.library is None else self.library.settings()
        return f"process v1 {self.word} {type(self.logic).__qualname__} {settings} by {self.by}"

    @property
    def mark_port(self) -> int | None:
        return len(self.inputs) - 1 if self.marked else None

    @property
    def mark_output(self) -> int | None:
        return self.results if self.marked else None

    @property
    def makes_marks(self) -> bool:
        return self.library is not None and self.library.makes_marks

    @property
    def late_ports(self) -> range:
        return range(1, self.results) if self.library is not None and self.library.has_late else range(0)

    @property
    def time_lengths(self) -> tuple[int, ...]:
        return () if self.library is None else self.library.time_lengths

    @property
    def acts_at_end(self) -> bool:
        return acts_at_end(self.logic)

    @property
    def ranks_keys(self) -> bool:
        return self.by is not None and (self.acts_at_end or self._emits_at_marks)

    @property
    def _emits_at_marks(self) -> bool:
        return self.marked and acts_on_marks(self.logic) and (self.library is None or self.library.emits_at_marks)

    @property
    def placing_ports(self) -> range:
        return range(len(self.inputs))

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return None if self.library is None else self.library.known(self, inputs)

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        if self.library is not None:
            return self.library.code(self, inputs)
        return (UserClass(logic=self.logic, where=self.where, inputs=inputs, outputs=self.outputs[: self.results]),)
