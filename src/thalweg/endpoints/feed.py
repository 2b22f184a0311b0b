"""The end of a loop, which `stream.feed(loop)` makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.ir.endpoints import SinkEndpoint, SinkSite

if TYPE_CHECKING:
    from thalweg.engine.inputs.feedback import FeedSink


@dataclass(frozen=True, slots=True)
class Feed(SinkEndpoint):
    """Tuples that come back as those of a feedback operator in the next epoch."""

    into: str

    call = ""
    needs_spark = False
    placed = True  # what is fed back has its place by its emission
    shows_order = True
    target = None
    sink_row = ()

    @property
    def feeds(self) -> str:
        return self.into

    def writer(self, site: SinkSite) -> FeedSink:
        from thalweg.engine.inputs.feedback import FeedSink

        return FeedSink.of(site.checkpoint / "feedback", self.into)
