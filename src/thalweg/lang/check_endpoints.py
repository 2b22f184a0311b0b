"""Checks of the endpoints of sources and sinks."""

from __future__ import annotations

from thalweg.errors import GraphError, Where, described
from thalweg.ir.endpoints import Endpoint, SinkEndpoint, SourceEndpoint, Target, known
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.types import TupleType


def check_source(endpoint: SourceEndpoint, tuple_type: TupleType, where: Where) -> None:
    if not isinstance(endpoint, SourceEndpoint):
        call = endpoint.call if isinstance(endpoint, Endpoint) else ""
        raise GraphError(
            "not a source",
            where=where,
            expected=" or ".join(known(SourceEndpoint)),
            found=call or described(endpoint),
            hint=f"{call} is a sink: stream.sink({call})" if call else _uncalled(endpoint),
        )
    endpoint.check_source(tuple_type, where)


def check_sink(endpoint: SinkEndpoint, tuple_type: TupleType, where: Where) -> None:
    if not isinstance(endpoint, SinkEndpoint):
        call = endpoint.call if isinstance(endpoint, Endpoint) else ""
        raise GraphError(
            "not a sink",
            where=where,
            expected=" or ".join(known(SinkEndpoint)),
            found=call or described(endpoint),
            hint=f"{call} is a source: app.source({call}, Type)" if call else _uncalled(endpoint),
        )
    endpoint.check_sink(tuple_type, where)


def _uncalled(endpoint: object) -> str | None:
    """A hint for `tw.files` in place of `tw.files(…)`."""
    module, name = getattr(endpoint, "__module__", ""), getattr(endpoint, "__name__", "")
    return f"call it: tw.{name}(…)" if callable(endpoint) and str(module).startswith("thalweg.endpoints.") else None


def check_targets(graph: LogicalGraph) -> None:
    """Reject sinks that would write where another sink writes, or where a source reads."""
    read = {source.endpoint.folder for source in graph.sources}
    written: list[tuple[Target, str]] = []
    for sink in graph.sinks:
        if (folder := sink.endpoint.folder) is not None and folder in read:
            raise GraphError(
                "a sink writes into the folder that a source reads",
                operator=sink.name,
                where=sink.where,
                expected="a separate folder",
                found=folder,
            )
        target = sink.endpoint.target
        if target is None:
            continue
        for other, name in written:
            if other.place == target.place:
                raise GraphError(
                    f"two sinks write into {target.shown}",
                    operator=sink.name,
                    where=sink.where,
                    expected=f"a {target.kind} for each sink",
                    found=f"{name} writes there too",
                    hint=target.hint,
                )
        written.append((target, sink.name))
