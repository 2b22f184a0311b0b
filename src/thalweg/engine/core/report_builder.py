"""Builds the report of an epoch from its counts and measured times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.engine.core.losses import losses
from thalweg.engine.core.timing import rounded
from thalweg.engine.storage.log import Epoch
from thalweg.engine.storage.report import EpochReport, Lost, OperatorCounts, PETime, added_losses
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Source, StreamRef
from thalweg.ir.pe_id import PeId
from thalweg.runtime.pe_counts import Counts, Spent


@dataclass(frozen=True, slots=True)
class Measures:
    """What only the engine can measure of an epoch: seconds in total and by part, backlog, size of the state."""

    seconds: float
    parts: Mapping[str, float]
    backlog: int | None
    state_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is known before an epoch runs: the losses until then, and items that feeders skipped, by source."""

    lost: Mapping[str, Lost]
    skipped: Mapping[str, int]


def build_report(
    graph: LogicalGraph,
    epoch: Epoch,
    tuples_out: dict[str, int],
    counts: Counts,
    measures: Measures,
    sink_seconds: Mapping[str, float],
    earlier: Earlier,
) -> EpochReport:
    operators = operator_counts(graph, counts, epoch, earlier.skipped)
    lost = losses(graph, operators)
    return EpochReport(
        epoch.number,
        epoch.final,
        epoch.tuples,
        tuples_out,
        round(measures.seconds, 6),
        measures.backlog,
        operators=operators,
        pes=pe_times(counts.spent),
        parts=rounded(measures.parts),
        sinks=rounded(sink_seconds),
        state_bytes=measures.state_bytes,
        lost=lost,
        lost_in_run=added_losses(earlier.lost, lost),
    )


def with_measures(report: EpochReport, measures: Measures) -> EpochReport:
    return replace(
        report,
        seconds=round(measures.seconds, 6),
        parts=rounded(measures.parts),
        backlog=measures.backlog,
        state_bytes=measures.state_bytes,
    )


def operator_counts(
    graph: LogicalGraph, counts: Counts, epoch: Epoch, unspooled: Mapping[str, int]
) -> dict[str, OperatorCounts]:
    """The counts of each operator. Every consumer of a stream receives all of its tuples, so the count of an input port
    is the count of its stream; the counts of sources are in the log. `unspooled`: items that are not in the log."""
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
            skipped=counts.skipped.get(operator.name, 0) + unspooled.get(operator.name, 0),
            dead_letters=0 if dead is None else out[dead] or 0,
            late=sum(out[port] or 0 for port in operator.late_ports),
        )

    return {operator.name: of(operator) for operator in graph.operators}


def carries_marks(operator: Operator, port: int) -> bool:
    """Whether a port carries marks. They are not counted: their number depends on the number of channels and frames."""
    return operator.mark_output == port or operator.makes_marks


def pe_times(spent: Mapping[PeId, Spent]) -> dict[PeId, PETime]:
    return {
        pe: PETime(*(round(ns / 1e9, 6) for ns in (s.cpu_ns, s.input_wait_ns, s.output_wait_ns, s.state_wait_ns)))
        for pe, s in sorted(spent.items())
    }
