"""The ends of a stream: `sink`, `export`, `feed`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.endpoints.feed import Feed
from thalweg.endpoints.files import exported
from thalweg.endpoints.kafka import Kafka, through
from thalweg.errors import GraphError
from thalweg.ir import operators as ops
from thalweg.ir.arguments import checked
from thalweg.ir.endpoints import SinkEndpoint
from thalweg.lang.check_endpoints import check_sink
from thalweg.lang.operator_call import OperatorSite

if TYPE_CHECKING:
    from thalweg.lang.app import Stream


@checked
def sink(self: Stream, endpoint: SinkEndpoint, *, name: str | None = None) -> None:
    """End the stream in a sink."""
    site = OperatorSite(self.app, "sink", name)
    _end(self, site, endpoint)


@checked
def export(self: Stream, export: str, *, via: Kafka | None = None, name: str | None = None) -> None:
    """Provide these tuples to other applications under a name: they read them with `app.imported(name, Type)`.

    `via=tw.kafka(…)`: through a topic, instead of a folder."""
    site = OperatorSite(self.app, "export", name)
    _end(
        self,
        site,
        through(via, export, site.where) if via is not None else exported(export, self.tuple_type, site.where),
    )


@checked
def feed(self: Stream, loop: Stream, *, name: str | None = None) -> None:
    """End a loop: feed these tuples back into `loop`, a stream created by `app.feedback(Type)`."""
    site = OperatorSite(self.app, "feed", name)
    self._same_app(loop, site)
    start = self.app._by_name[loop.ref.operator]
    if not isinstance(start, ops.Feedback):
        raise GraphError(
            "tuples are fed back into an ordinary stream",
            where=site.where,
            expected="a stream created by app.feedback(Type)",
            found=f"the stream of {start.name}, a {start.kind} ({start.where})",
            hint="loop = app.feedback(Type); use it in a union; then .feed(loop)",
        )
    fed = [o.name for o in self.app._operators if isinstance(o, ops.Sink) and o.endpoint == Feed(start.name)]
    if fed:
        raise GraphError(
            f"{start.name} is fed twice", where=site.where, found=f"{fed[0]} also feeds it", hint="feed a .union()"
        )
    if not self.tuple_type.same_attributes(loop.tuple_type):
        raise GraphError(
            "a loop of different tuple types",
            where=site.where,
            expected=str(loop.tuple_type),
            found=str(self.tuple_type),
        )
    self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=Feed(start.name)))


def _end(self: Stream, site: OperatorSite, endpoint: SinkEndpoint) -> None:
    check_sink(endpoint, self.tuple_type, site.where)
    self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))
