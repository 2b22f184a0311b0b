"""`tw.collect`: tuples that are returned to the caller of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.ir.arguments import checked
from thalweg.ir.endpoints import SinkEndpoint, SinkSite, any_tuple_type

if TYPE_CHECKING:
    from thalweg.engine.sinks.writers import CollectSink


@checked
def collect() -> Collect:
    """A sink whose tuples are returned to the caller of `tw.run`."""
    return Collect()


@dataclass(frozen=True, slots=True)
class Collect(SinkEndpoint):
    """A sink that keeps its tuples in the checkpoint."""

    call = "tw.collect()"
    needs_spark = False
    placed = False  # they are not read before the run ends
    shows_order = True
    target = None
    folder = None
    check_sink = any_tuple_type
    sink_row = ("`tw.collect()`", "back to the caller of `tw.run`", "kept", "exactly once")

    def writer(self, site: SinkSite) -> CollectSink:
        from thalweg.engine.sinks.writers import CollectSink

        return CollectSink(site.results, "parquet", site.tuple_type)
