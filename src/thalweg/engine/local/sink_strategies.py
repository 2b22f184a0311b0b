"""The strategies with which the tuples of sinks are merged in the driver."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.analysis.merges import strategy_of
from thalweg.analysis.order_keys import order_layout
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.ir.regions import NONE, NUMBERS, ROUND_ROBIN
from thalweg.runtime.ordering.mergers import Merger, Numbers, NumbersAndPulses, RoundRobin, Unordered


@dataclass(frozen=True, slots=True)
class SinkJoint:
    """The merge of a wire's channels. `shared`: several of its tuples may have the same position."""

    strategy: str
    shared: bool

    def merger(self, channels: int, first: int) -> Merger:
        """The merger for an epoch whose smallest position is `first`."""
        if self.strategy == NONE:
            return Unordered()
        if self.strategy == ROUND_ROBIN:
            return RoundRobin(channels)
        if self.strategy == NUMBERS:
            return Numbers(channels, first - 1)
        return NumbersAndPulses(channels, first - 1, shared=self.shared)


def joints_of(plan: Plan) -> dict[int, SinkJoint]:
    """The joint of each sink wire. Without sub-positions, no two tuples of a stream have the same position."""
    width = order_layout(plan.graph).width
    wires = {layout(plan).sink_wire(sink) for sink in plan.graph.sinks}
    return {wire.index: SinkJoint(strategy_of(plan, wire), width[wire.stream] > 0) for wire in wires}
