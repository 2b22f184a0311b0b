"""The local engine in one process, without a JVM. It runs the same programs as on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.analysis.source_predicates import wanted
from thalweg.codegen.pe_module import compile_plan
from thalweg.engine.core.pe_pool import PEPool
from thalweg.engine.core.stage_programs import (
    Parcel,
    Passed,
    first_failure,
    run_fed,
    run_source_pe,
    run_stateful_pe,
    run_stateless_pe,
)
from thalweg.engine.inputs.feedback import fed_back, until_nothing_is_fed
from thalweg.engine.inputs.readers import readers
from thalweg.engine.local.buckets import Buckets, EpochBuckets
from thalweg.engine.storage.log import Epoch
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import gather
from thalweg.runtime.pe_counts import Counts


class LocalEngine:
    """A running plan. `state`: the buckets of each (stage, channel)."""

    def __init__(self, plan: Plan, state: dict[tuple[int, int], Buckets] | None = None) -> None:
        self.plan = plan
        self.programs = compile_plan(plan)
        self.pes = PEPool()
        live = live_attributes(plan.graph)
        self.readers = readers(plan.graph, {s.name: live[s.output] for s in plan.graph.sources}, wanted=wanted)
        self.ordered = ordered_sinks(plan.graph)
        self.state = state if state is not None else {}
        self.counts = Counts()  # of the last complete epoch

    def run_epoch(self, epoch: Epoch, fed: Mapping[str, Frame] | None = None) -> Mapping[str, Frame | None]:
        """Each sink's tuples of this epoch. If a tuple fails, TupleError is raised and the state is unchanged.

        `fed`: the tuples that the previous epoch fed back, by feedback operator.
        """
        passed = Passed()
        stores: dict[tuple[int, int], EpochBuckets] = {}
        parcels = self._source_stage(epoch, passed, fed or {})
        for stage in range(1, len(self.programs)):
            parcels = self._stage(stage, parcels, stores, passed, epoch)
        if (failure := first_failure(passed.failures)) is not None:
            raise failure
        for place, store in stores.items():
            self.state.setdefault(place, {}).update(store.written)
        self.counts = passed.counts
        wires = {sink.name: layout(self.plan).sink_wire(sink).index for sink in self.plan.graph.sinks}
        return {
            name: gather([p.frame for p in parcels if p.wire == wire], ordered=name in self.ordered)
            for name, wire in wires.items()
        }

    def _source_stage(self, epoch: Epoch, passed: Passed, fed: Mapping[str, Frame]) -> list[Parcel]:
        first, *others = self.programs[0]
        parcels: list[Parcel] = []
        for channel, pieces in enumerate(epoch.spread(1 if self.plan.reads_in_one else self.plan.channels)):
            pe = self.pes.of(first, channel)
            sent = run_source_pe(pe, self.readers, pieces, passed)
            if channel == 0:
                sent = chain(run_fed(pe, fed, epoch.base, passed), sent)
            for program in others:
                sent = run_stateless_pe(self.pes.of(program, channel), sent, passed)
            parcels += sent
        return parcels

    def close(self) -> None:
        """Release what operators created in `setup`."""
        self.pes.close()

    def run_log(self, log: Iterable[Epoch]) -> Iterator[Mapping[str, Frame | None]]:
        """The sinks' tuples, epoch by epoch. Before the final one, epochs are run until nothing is fed back."""
        fed: Mapping[str, Frame] = {}
        for epoch in until_nothing_is_fed(log, lambda: bool(fed)):
            found = self.run_epoch(epoch, fed)
            fed = fed_back(self.plan.graph, found)
            yield found

    def _stage(
        self,
        stage: int,
        parcels: list[Parcel],
        stores: dict[tuple[int, int], EpochBuckets],
        passed: Passed,
        epoch: Epoch,
    ) -> list[Parcel]:
        end = epoch.base if epoch.final else None
        first, *others = self.programs[stage]
        result: list[Parcel] = []
        for channel in range(self.plan.channels):
            store = stores[stage, channel] = EpochBuckets(self.state.get((stage, channel), {}))
            mine = [p for p in parcels if p.channel == channel]
            sent = run_stateful_pe(self.pes.of(first, channel), mine, store, passed, epoch.number, end)
            for program in others:
                sent = run_stateless_pe(self.pes.of(program, channel), sent, passed)
            result += sent
        return result
