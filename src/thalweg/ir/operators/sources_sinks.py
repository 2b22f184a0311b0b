"""The operators where tuples enter and leave the graph."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import ClassVar

from thalweg.ir.endpoints import SinkEndpoint, SourceEndpoint
from thalweg.ir.operator_model import MANY, Model
from thalweg.ir.operators.base import Stateless
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TUPLE, UserCode, UserFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Stateless):
    """An operator without inputs."""

    is_family: ClassVar[bool] = True
    counts_emissions: ClassVar[bool] = False
    mark_output = None
    users_code = None  # a source may call a function, but more than the function defines the source

    origin: int = 0  # if event time depends on where tuples come from: the number of its first origin, in order keys

    @property
    def origins(self) -> int:
        """How many parts of it advance concurrently, as far as this is known before it runs."""
        return 1

    @property
    def finds_splits(self) -> bool:
        """Whether it finds its concurrent parts while it runs."""
        return False

    @property
    def sub_positions(self) -> int:
        return 1 if self.origin else 0

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return Model("it has no input", (MANY,), ((),), (), can_fail=False)

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        raise ValueError(f"{self.name} has no input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Entry):
    endpoint: SourceEndpoint
    partition_by: tuple[str, ...] = ()  # tuples that differ in these attributes come from different partitions

    @property
    def origins(self) -> int:
        return self.endpoint.concurrent_splits or 1

    @property
    def finds_splits(self) -> bool:
        return self.endpoint.concurrent_splits is None

    def origin_of(self, split: int) -> int:
        """The number of a split's origin; 0 if it does not matter, or if the reader adds it to each row."""
        if not self.origin or self.finds_splits:
            return 0
        return self.origin + (split if self.origins > 1 else 0)

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        function = self.endpoint.numbered
        if function is None:
            return ()
        return (UserFunction(function=function, where=self.where, arguments=(int,), use=TUPLE, output=self.outputs[0]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback(Entry):
    """The start of a loop: tuples fed back in one epoch come first in the next one, in the order of their emission."""

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Stateless):
    endpoint: SinkEndpoint

    counts_emissions: ClassVar[bool] = False
    mark_output = None
    users_code = None

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return Model("a sink writes all tuples in order", (), (), (None,) * len(inputs), can_fail=False)

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()
