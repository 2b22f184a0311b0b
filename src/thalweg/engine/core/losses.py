"""Warnings about missing tuples: those that a run lost, and sources that read nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from thalweg.engine.storage.report import Lost, OperatorCounts
from thalweg.ir.endpoints import Spooled
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Source, StreamRef


def losses(graph: LogicalGraph, counts: Mapping[str, OperatorCounts]) -> dict[str, Lost]:
    """What each operator that can lose tuples lost, and of how many; a source is always included. Late tuples and dead
    letters that an operator or a sink reads are not lost."""
    return {o.name: _lost(graph, o, counts[o.name]) for o in graph.operators if _can_lose(graph, o)}


def _can_lose(graph: LogicalGraph, operator: Operator) -> bool:
    return isinstance(operator, Source) or operator.on_error != "fail" or bool(_unread_late(graph, operator))


def _lost(graph: LogicalGraph, operator: Operator, counts: OperatorCounts) -> Lost:
    dead = operator.dead_port
    letters = dead is not None and not graph.consumers[StreamRef(operator.name, dead)]
    taken = sum(tuples or 0 for tuples in counts.tuples_in)
    if isinstance(operator, Source):
        taken = counts.skipped + (counts.tuples_out[0] or 0)
    return Lost(
        of=taken,
        late=sum(counts.tuples_out[port] or 0 for port in _unread_late(graph, operator)),
        skipped=counts.skipped if operator.on_error == "skip" else 0,  # a source counts its dead letters there, too
        dead_letters=counts.dead_letters if letters else 0,
    )


def _unread_late(graph: LogicalGraph, operator: Operator) -> list[int]:
    return [port for port in operator.late_ports if not graph.consumers[StreamRef(operator.name, port)]]


def loss_warnings(graph: LogicalGraph, lost: Mapping[str, Lost]) -> Iterator[str]:
    """A text per operator and kind of loss."""
    for name, found in lost.items():
        operator = graph.by_name.get(name)  # an earlier start may have had other operators
        if found.late:
            hint = "" if operator is None else f"; allow more lateness or use {_late_streams(graph, operator)}"
            yield f"{name}: {found.share(found.late)} came too late and were dropped{hint}"
        if found.skipped and isinstance(operator, Source):
            yield f"{name}: {found.share(found.skipped, 'rows')} are not valid and were left out; {_policies(operator)}"
        elif found.skipped:
            yield f"{name}: {found.share(found.skipped)} failed and were skipped; {_POLICIES}"
        if found.dead_letters:
            yield f"{name}: {found.share(found.dead_letters)} became dead letters that nothing reads"


def empty_warnings(graph: LogicalGraph, lost: Mapping[str, Lost], *, at_start: bool = False) -> Iterator[str]:
    """A text for each source that has read nothing since the first start; `at_start`: if there is nothing to read."""
    for source in graph.sources:
        if source.name in lost and lost[source.name].of:
            continue
        instead = source.endpoint.nothing_to_read()
        if instead is not None or not at_start:
            reason = instead or source.endpoint.read_in_vain()
            yield f"{source.name} {'finds' if at_start else 'read'} nothing: {reason}"


_FAIL = 'on_error="fail" shows the first one'
_POLICIES = f'{_FAIL}, on_error="dead_letter" keeps them'


def _policies(source: Source) -> str:
    """A feeder drops what is not valid: there is no stream for it."""
    return _FAIL if isinstance(source.endpoint, Spooled) else _POLICIES


def _late_streams(graph: LogicalGraph, operator: Operator) -> str:
    names = ("late", "late_other")
    unread = _unread_late(graph, operator)
    return " and ".join(f"{operator.name}.{names[port - operator.late_ports.start]}" for port in unread)
