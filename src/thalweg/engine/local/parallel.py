"""The local engine with a worker process for each channel. It runs the same programs and merges while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from thalweg.engine.local.blocks import rows_per_block
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.local.gather import Gather
from thalweg.engine.local.messages import Begin, Job, Load
from thalweg.engine.local.pool import Pool
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.local.sink_strategies import joints_of
from thalweg.engine.storage.log import Epoch
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.runtime.frame import Frame

BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class ParallelOptions:
    """How the work is divided. Not part of the plan, because it has no effect on the answer."""

    block_rows: int = BLOCK_ROWS  # the maximum number of consecutive tuples that are read and sent together
    window: int = 4  # blocks per channel that may be in progress


class Workers(Protocol):
    """A set of workers: processes, or in tests plain objects."""

    def load(self, loads: Sequence[Load]) -> None:
        """Send a job to each of the first workers."""

    def run(self, begins: Sequence[Begin], gather: Gather) -> None:
        """Run one epoch, until `gather` is complete."""

    def unload(self) -> None:
        """Release what operators created in `setup`."""

    def close(self) -> None:
        """End the workers."""


_rounds = count()  # shared by all engines of this process, because they may share workers


class ParallelEngine(LocalEngine):
    """Runs a plan in several processes. `workers`: a pool that the caller owns and closes."""

    def __init__(
        self,
        plan: Plan,
        state: dict[tuple[int, int], Buckets] | None = None,
        *,
        workers: Workers | None = None,
        options: ParallelOptions | None = None,
    ) -> None:
        super().__init__(plan, state)
        self.channels = plan.channels
        self.options = options or ParallelOptions()
        self.own = workers is None
        self.workers: Workers = Pool(self.channels) if workers is None else workers
        self.joints = joints_of(plan)
        # By joint: the largest number of tuples that waited in its merger in the last complete epoch.
        self.most_held: dict[str, int] = {}
        self._loaded = False
        self._keep = False

    def run_epoch(self, epoch: Epoch, fed: Mapping[str, Frame] | None = None) -> Mapping[str, Frame | None]:
        self.prepare()
        fed = fed or {}
        first = epoch.base - sum(map(len, fed.values()))
        rows = rows_per_block(epoch, self.channels, min(self.options.block_rows, self.plan.frame_rows))
        window, round = self.options.window * self.channels, next(_rounds)
        begins = [
            Begin(round, epoch, fed if channel == 0 else {}, first, rows, window, self._keep)
            for channel in range(self.channels)
        ]
        mergers = {wire: joint.merger(self.channels, first) for wire, joint in self.joints.items()}
        gather = Gather(begins[0], self.channels, window, mergers)
        self._keep = False
        self.workers.run(begins, gather)
        passed = gather.check()
        self._keep = True
        for done in gather.done:
            for stage, buckets in done.written.items():
                self.state.setdefault((stage, done.sender), {}).update(buckets)
        self.counts, self.most_held = passed.counts, gather.most_held()
        found = gather.sinks()
        return {sink.name: found[layout(self.plan).sink_wire(sink).index] for sink in self.plan.graph.sinks}

    def prepare(self) -> None:
        """Start the workers and send them the plan, if they do not have it."""
        if self._loaded:
            return
        readers = 1 if self.plan.reads_in_one else self.channels
        job = Job(self.programs, self.readers, self.channels, readers)
        stages = range(1, len(self.programs))
        self.workers.load([Load(job, {s: self.state.get((s, c), {}) for s in stages}) for c in range(self.channels)])
        self._loaded = True

    def close(self) -> None:
        if self.own:
            self.workers.close()
        elif self._loaded:
            self.workers.unload()
        self._loaded = False
