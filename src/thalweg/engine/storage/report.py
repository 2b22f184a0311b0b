"""The report of an epoch: exact counts per operator and port, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from operator import add
from typing import Any, TypeVar

from thalweg.ir.pe_id import PeId

Ports = tuple[int | None, ...]  # a number of tuples per port; None: the port carries marks, which are not tuples

# Where an epoch's seconds go, in the order in which they are spent.
PARTS = ("cut", "plan", "log", "run", "sinks", "commit", "other")


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """The tuples in and out of one operator. Dead letters and late tuples are also included in the counts of their
    ports."""

    tuples_in: Ports
    tuples_out: Ports
    skipped: int = 0
    dead_letters: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """Of the tuples that came to one operator (for a source: the rows that it read), those that were lost."""

    of: int
    late: int = 0
    skipped: int = 0
    dead_letters: int = 0  # that nothing reads

    @property
    def any(self) -> bool:
        return bool(self.late or self.skipped or self.dead_letters)

    def share(self, tuples: int, what: str = "tuples") -> str:
        return f"{tuples:,} of {self.of:,} {what}"


@dataclass(frozen=True, slots=True)
class PETime:
    """Seconds of a PE, summed over its channels: CPU time of its thread, and wall time spent waiting."""

    cpu_s: float
    input_wait_s: float = 0.0
    output_wait_s: float = 0.0
    state_wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The counts and times of one epoch, stored in the checkpoint. An epoch that is run again replaces its report."""

    epoch: int
    final: bool
    tuples_in: int
    tuples_out: dict[str, int]
    seconds: float
    backlog: int | None  # tuples known to be waiting; None: unknown, because an earlier start cut the epoch
    operators: dict[str, OperatorCounts] = field(default_factory=dict)
    pes: dict[PeId, PETime] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)  # seconds by PARTS
    sinks: dict[str, float] = field(default_factory=dict)  # seconds that merging and writing took, by sink
    state_bytes: int | None = None
    state_commit_s: float | None = None  # a part of `run`: the state stores of all channels together
    lost: dict[str, Lost] = field(default_factory=dict)  # by operator that can lose tuples
    lost_in_run: dict[str, Lost] = field(default_factory=dict)  # the same, from the first start up to this epoch

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> EpochReport:
        """A stored report; reports of older versions, with fewer fields, are accepted."""
        operators = {
            name: OperatorCounts(tuple(counts.pop("tuples_in")), tuple(counts.pop("tuples_out")), **counts)
            for name, counts in ((name, dict(counts)) for name, counts in document.get("operators", {}).items())
        }
        pes = {PeId.parse(pe): PETime(**seconds) for pe, seconds in document.get("pes", {}).items()}
        lost = {
            key: {name: Lost(**found) for name, found in document.get(key, {}).items()}
            for key in ("lost", "lost_in_run")
        }
        return EpochReport(**{**document, "operators": operators, "pes": pes, **lost})

    def to_document(self) -> dict[str, Any]:
        """The report as it is stored."""
        return {**asdict(self), "pes": {str(pe): asdict(seconds) for pe, seconds in self.pes.items()}}

    def as_event(self) -> dict[str, Any]:
        """The report as published to monitoring tools."""
        return {**self.to_document(), "left_out": self.left_out}

    @property
    def skipped(self) -> int:
        return sum(counts.skipped for counts in self.operators.values())

    @property
    def left_out(self) -> dict[str, int]:
        """By source: invalid rows of its input."""
        return {name: c.skipped for name, c in self.operators.items() if not c.tuples_in and c.skipped}

    @property
    def dead_letters(self) -> int:
        return sum(counts.dead_letters for counts in self.operators.values())

    @property
    def late(self) -> int:
        return sum(counts.late for counts in self.operators.values())


def added(a: EpochReport, b: EpochReport) -> EpochReport:
    """Two reports as one: counts and times are added up, everything else is taken from the later one."""
    return replace(
        b,
        tuples_in=a.tuples_in + b.tuples_in,
        tuples_out=_summed(a.tuples_out, b.tuples_out),
        seconds=a.seconds + b.seconds,
        operators={
            name: OperatorCounts(
                _ports(counts.tuples_in, a.operators[name].tuples_in),
                _ports(counts.tuples_out, a.operators[name].tuples_out),
                counts.skipped + a.operators[name].skipped,
                counts.dead_letters + a.operators[name].dead_letters,
                counts.late + a.operators[name].late,
            )
            if name in a.operators
            else counts
            for name, counts in b.operators.items()
        },
        pes={
            pe: PETime(
                *(x + y for x, y in zip(astuple(a.pes.get(pe, _NONE)), astuple(b.pes.get(pe, _NONE)), strict=True))
            )
            for pe in {**a.pes, **b.pes}
        },
        parts=_summed(a.parts, b.parts),
        sinks=_summed(a.sinks, b.sinks),
        lost=added_losses(a.lost, b.lost),
    )


def added_losses(a: Mapping[str, Lost], b: Mapping[str, Lost]) -> dict[str, Lost]:
    return {
        name: Lost(*map(add, astuple(a.get(name, _NO_LOSS)), astuple(b.get(name, _NO_LOSS)))) for name in {**a, **b}
    }


@dataclass(slots=True)
class Tally:
    """The sum of a start's reports; individual ones are not kept, because a run may last for months."""

    epochs: int = 0
    all: EpochReport | None = None  # all reports as one

    def add(self, report: EpochReport) -> None:
        self.epochs += 1
        self.all = report if self.all is None else added(self.all, report)

    @property
    def final(self) -> bool:
        return self.all is not None and self.all.final


_NONE = PETime(0.0)
_NO_LOSS = Lost(0)
Number = TypeVar("Number", int, float)


def _summed(a: Mapping[str, Number], b: Mapping[str, Number]) -> dict[str, Number]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}


def _ports(a: Ports, b: Ports) -> Ports:
    return tuple(None if x is None or y is None else x + y for x, y in zip(a, b, strict=True))
