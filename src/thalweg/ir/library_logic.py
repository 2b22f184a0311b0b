"""Base of the operators that are written in Python and belong to Thalweg: `thalweg.library`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from thalweg.ir.incomplete import check_pieces
from thalweg.ir.logic import Logic
from thalweg.ir.operator_model import Model
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode

if TYPE_CHECKING:
    from thalweg.ir.operators import Process


class LibraryLogic(Logic):
    """Users' classes are read to find out what they do; these declare it, so that nothing else needs to know them.

    A class with a `process` of its own, or an inherited one, must have every abstract method: it fails when it is
    defined, not when it runs.
    """

    makes_marks: ClassVar[bool] = False  # whether it emits marks in place of tuples

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.process is not Logic.process:
            check_pieces(cls, LibraryLogic)

    @abstractmethod
    def settings(self) -> str:
        """What it was set to, as far as stored state depends on it."""

    @abstractmethod
    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model | None:
        """The operator's model; None: all is in the user's code."""

    @abstractmethod
    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        """The user's functions that it calls."""

    @property
    def users_code(self) -> object | None:
        """The user's function, if the operator is nothing else."""
        return None

    @property
    def has_late(self) -> bool:
        """Whether its output ports from 1 on are for tuples that came too late."""
        return False

    @property
    def time_lengths(self) -> tuple[int, ...]:
        """Lengths of event time: marks must come at every multiple of them."""
        return ()

    @property
    def inner_types(self) -> tuple[TupleType, ...]:
        """Types of tuples that its state may hold in addition to those of its ports."""
        return ()
