"""The base class of Thalweg's operators that are written in Python: `thalweg.library`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from thalweg.ir.completeness import check_pieces
from thalweg.ir.logic import Logic
from thalweg.ir.operator_model import Model
from thalweg.ir.types import INT64_MIN, TupleType
from thalweg.ir.user_code import UserCode

if TYPE_CHECKING:
    from thalweg.ir.operators import Process


class LibraryLogic(Logic):
    """User classes are analyzed to find their properties; these classes declare them, so that no other code depends on
    these classes.

    A class that defines or inherits `process` must define all that has no default: otherwise it fails when it is
    defined, not when it runs.
    """

    makes_marks: ClassVar[bool]  # whether it emits marks instead of tuples; its `now` is the number of the epoch
    emits_at_marks: ClassVar[bool] = True  # False: if it acts on marks, it only forgets

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.process is not Logic.process:
            check_pieces(cls, LibraryLogic)

    @abstractmethod
    def settings(self) -> str:
        """The settings that stored state depends on."""

    @abstractmethod
    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model | None:
        """The operator's model; None: everything depends on user code."""

    @abstractmethod
    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        """The user functions that it calls."""

    @property
    @abstractmethod
    def users_code(self) -> object | None:
        """The user function, if it alone defines the operator."""

    @property
    @abstractmethod
    def has_late(self) -> bool:
        """Whether its output ports from 1 on are for tuples that arrived too late."""

    @property
    @abstractmethod
    def time_lengths(self) -> tuple[int, ...]:
        """Durations in event time: a mark is required at every multiple of them."""

    @property
    @abstractmethod
    def inner_types(self) -> tuple[TupleType, ...]:
        """Types of tuples that its state may hold in addition to those of its ports."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether a key's object holds nothing, so that the key can be forgotten."""

    @property
    def due(self) -> int | None:
        """The time of the first mark at which it may act; None: at no mark before its next tuple."""
        return INT64_MIN
