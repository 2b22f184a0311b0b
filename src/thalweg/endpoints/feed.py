"""The end of a loop, created by `stream.feed(loop)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.ir.endpoints import SinkEndpoint, SinkSite, any_tuple_type

if TYPE_CHECKING:
    from thalweg.engine.inputs.feedback import FeedSink


@dataclass(frozen=True, slots=True)
class Feed(SinkEndpoint):
    """Tuples that a feedback operator emits in the next epoch."""

    into: str

    call = ""
    needs_spark = False
    placed = True  # the emission of a tuple determines its place among those fed back
    shows_order = True
    target = None
    folder = None
    check_sink = any_tuple_type  # `feed` has compared it with the type of the loop
    sink_row = ()

    @property
    def feeds(self) -> str:
        return self.into

    def writer(self, site: SinkSite) -> FeedSink:
        from thalweg.engine.inputs.feedback import FeedSink

        return FeedSink.of(site.checkpoint / "feedback", self.into)
