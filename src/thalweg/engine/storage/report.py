"""What one epoch did, in numbers: exact counts per operator and port, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, TypeVar

from thalweg.engine.storage.log import Epoch
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Process, Source, StreamRef
from thalweg.library.window_aggregate import ApplyConfig, Config
from thalweg.library.window_join import JoinConfig
from thalweg.runtime.pe_counts import Counts, Spent

Ports = tuple[int | None, ...]  # a number of tuples per port; None: the port carries marks, which are no tuples

# Where an epoch's seconds go, in the order in which they are spent.
PARTS = ("cut", "plan", "log", "run", "sinks", "commit", "other")


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """What went into and came out of one operator. Tuples on the port of dead letters, or of tuples that came too late,
    are counted there, too."""

    tuples_in: Ports
    tuples_out: Ports
    skipped: int = 0
    dead_letters: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class PETime:
    """Seconds of a PE, of all its channels together: thread CPU time, and wall time that it waited."""

    cpu_s: float
    input_wait_s: float = 0.0
    output_wait_s: float = 0.0
    state_wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch did. Kept in storage: whoever watches reads it there. An epoch that is run again replaces it."""

    epoch: int
    final: bool
    tuples_in: int
    tuples_out: dict[str, int]
    seconds: float
    backlog: int | None  # tuples that are known to wait; None: not known, because the epoch was cut by an earlier start
    operators: dict[str, OperatorCounts] = field(default_factory=dict)
    pes: dict[str, PETime] = field(default_factory=dict)  # by place: "1.0" is the first PE of stage 1
    parts: dict[str, float] = field(default_factory=dict)  # seconds by PARTS
    sinks: dict[str, float] = field(default_factory=dict)  # seconds that merging and writing took, by sink
    state_bytes: int | None = None
    state_commit_s: float | None = None  # a part of `run`: the state stores of all channels together

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> EpochReport:
        """A report as it was stored, also by a version that did not count as much."""
        operators = {
            name: OperatorCounts(tuple(counts.pop("tuples_in")), tuple(counts.pop("tuples_out")), **counts)
            for name, counts in ((name, dict(counts)) for name, counts in document.get("operators", {}).items())
        }
        pes = {place: PETime(**seconds) for place, seconds in document.get("pes", {}).items()}
        return EpochReport(**{**document, "operators": operators, "pes": pes})

    def as_event(self) -> dict[str, Any]:
        """The report for tools that watch."""
        return {**asdict(self), "left_out": self.left_out}

    @property
    def skipped(self) -> int:
        return sum(counts.skipped for counts in self.operators.values())

    @property
    def left_out(self) -> dict[str, int]:
        """By source: rows of its input that are no tuples."""
        return {name: c.skipped for name, c in self.operators.items() if not c.tuples_in and c.skipped}

    @property
    def dead_letters(self) -> int:
        return sum(counts.dead_letters for counts in self.operators.values())

    @property
    def late(self) -> int:
        return sum(counts.late for counts in self.operators.values())


def operator_counts(graph: LogicalGraph, counts: Counts, epoch: Epoch) -> dict[str, OperatorCounts]:
    """By operator. A stream reaches each of its consumers whole, so what went into a port is what its stream carried;
    what a source gave, the log says."""
    taken = {source.name: 0 for source in graph.sources}
    for chunk in epoch.chunks:
        taken[chunk.source] += chunk.stop - chunk.start

    def carried(stream: StreamRef) -> int | None:
        operator = graph.by_name[stream.operator]
        if isinstance(operator, Source) and stream.port == 0:
            return taken[operator.name] - counts.skipped.get(operator.name, 0)
        if carries_marks(operator, stream.port):
            return None
        return counts.sent.get((stream.operator, stream.port), 0)

    def of(operator: Operator) -> OperatorCounts:
        out = tuple(carried(StreamRef(operator.name, port)) for port in range(len(operator.outputs)))
        dead = operator.dead_port
        return OperatorCounts(
            tuples_in=tuple(carried(stream) for stream in operator.inputs),
            tuples_out=out,
            skipped=counts.skipped.get(operator.name, 0),
            dead_letters=0 if dead is None else out[dead] or 0,
            late=sum(out[port] or 0 for port in late_ports(operator)),
        )

    return {operator.name: of(operator) for operator in graph.operators}


def carries_marks(operator: Operator, port: int) -> bool:
    """Marks are sent to every channel, and how many there are depends on the frames: they are not counted."""
    return operator.mark_output == port or (isinstance(operator, Process) and operator.word == "marks")


def late_ports(operator: Operator) -> range:
    """The output ports of tuples that came too late for their windows; a join has one for each side."""
    config = getattr(operator.logic, "config", None) if isinstance(operator, Process) else None
    has_late = isinstance(config, Config | ApplyConfig | JoinConfig) and config.late
    return range(1, operator.results) if isinstance(operator, Process) and has_late else range(0)


def pe_times(spent: Mapping[str, Spent]) -> dict[str, PETime]:
    """By place; programs are called `pe 1.0`."""
    return {
        name.removeprefix("pe "): PETime(
            *(round(ns / 1e9, 6) for ns in (s.cpu_ns, s.input_wait_ns, s.output_wait_ns, s.state_wait_ns))
        )
        for name, s in sorted(spent.items())
    }


def added(a: EpochReport, b: EpochReport) -> EpochReport:
    """Two epochs as one: what was counted and the time that it took are added up, all else is the later one's."""
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
            place: PETime(
                *(
                    x + y
                    for x, y in zip(astuple(a.pes.get(place, _NONE)), astuple(b.pes.get(place, _NONE)), strict=True)
                )
            )
            for place in {**a.pes, **b.pes}
        },
        parts=_summed(a.parts, b.parts),
        sinks=_summed(a.sinks, b.sinks),
    )


@dataclass(slots=True)
class Tally:
    """The epochs of a start put together: a run of months keeps no more of them."""

    epochs: int = 0
    all: EpochReport | None = None  # as one

    def add(self, report: EpochReport) -> None:
        self.epochs += 1
        self.all = report if self.all is None else added(self.all, report)

    @property
    def final(self) -> bool:
        return self.all is not None and self.all.final


_NONE = PETime(0.0)
Number = TypeVar("Number", int, float)


def _summed(a: Mapping[str, Number], b: Mapping[str, Number]) -> dict[str, Number]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}


def _ports(a: Ports, b: Ports) -> Ports:
    return tuple(None if x is None or y is None else x + y for x, y in zip(a, b, strict=True))
