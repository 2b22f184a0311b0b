"""A compiled PE as it is sent to workers, and its output: frames, failures and counts."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.errors import Where, redacted, summary
from thalweg.ir.operators import Operator
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import Route
from thalweg.ir.types import AttributeType, TupleType
from thalweg.ir.user_tracebacks import Raised, raised_in
from thalweg.runtime.frame import Frame
from thalweg.runtime.helper_modules import HelperVariables
from thalweg.runtime.pe_counts import Counts

# What a bracket encloses: the call of an operator, the kernel of a chain of operators, or sending to a wire.
Bracket = tuple[str, ...] | int


@dataclass(frozen=True)
class Program:
    """A compiled PE, as it is sent to its worker. The fingerprint identifies its source text."""

    id: PeId
    source: str
    bracketed_source: str  # the segments again, with brackets around their calls
    brackets: tuple[Bracket, ...]
    operators: Mapping[str, Operator]
    input_types: Mapping[str, tuple[TupleType, ...]]
    ranks: Mapping[str, int]
    ends: Mapping[str, int]  # the index of each operator's end among those of all operators
    widths: Mapping[str, int]  # of the order keys that arrive at an operator with several ports
    tables: Mapping[str, tuple[tuple[str, AttributeType], ...]]
    consumes: frozenset[int]
    forwards: frozenset[int]
    routes: Mapping[int, Route]
    wire_columns: Mapping[int, tuple[str, ...]]
    helpers: Mapping[str, HelperVariables]  # what each operator reads of helper modules
    buckets: int
    frame_rows: int
    fingerprint: str
    start: str  # identifies the start for which it was compiled

    @property
    def stateful(self) -> bool:
        return any(operator.key is not None for operator in self.operators.values())


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """A tuple on which a user function failed. Failures sort in the order in which the reference encounters them."""

    order_key: tuple[int, ...]
    rank: int
    operator: str = field(compare=False)
    where: Where = field(compare=False)
    message: str = field(compare=False)
    row: str = field(compare=False)
    at: Raised | None = field(compare=False)
    traceback: str = field(compare=False, repr=False)  # including generated code and the plan's calls

    @staticmethod
    def of(
        error: BaseException, order_key: tuple[int, ...], rank: int, operator: str, where: Where, row: str
    ) -> Failure:
        message, told = summary(error), redacted("".join(traceback.format_exception(error)))
        return Failure(order_key, rank, operator, where, message, redacted(row), raised_in(error), told)


@dataclass(slots=True)
class Output:
    """The output of a PE in one turn. Frames: (wire, channel, frame); channel None: the channel of the PE."""

    frames: list[tuple[int, int | None, Frame]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
