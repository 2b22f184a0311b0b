"""From graph to plan. The order is data; the driver verifies what comes out."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import DEFAULT_FRAME_ROWS, PhysicalPlan
from thalweg.ir.verify import verify
from thalweg.optimize.choose_degrees import ChooseDegrees
from thalweg.optimize.fuse import Fuse

BUCKETS_PER_CHANNEL = 1  # right for thousands of keys; with many more, `buckets` lets an epoch write less


def make_plan(
    graph: LogicalGraph,
    *,
    degree: int | Mapping[str, int] = 1,
    fuse: str | Fuse = "all",
    buckets: int | None = None,
    frame_rows: int = DEFAULT_FRAME_ROWS,
) -> PhysicalPlan:
    """A verified plan. Degrees come first: they decide where exchanges stand, and no PE spans an exchange."""
    degrees = ChooseDegrees(degree).run(graph) if isinstance(degree, int) else degree
    channels = max(degrees.values(), default=1)
    fusion = fuse if isinstance(fuse, Fuse) else Fuse.by_name(fuse, graph)
    return verify(fusion.run(graph, degrees, buckets or BUCKETS_PER_CHANNEL * channels, frame_rows))
