"""A worker: one channel of every stage, as a state machine without I/O.

The caller passes it each message that arrives (`receive`) and, when there is none, calls `work` to process one unit of
work; both return the messages to send. A process does that in a loop (`worker_process.py`); tests do it with many
workers at once, in any order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from thalweg.engine.core.pe_pool import PEPool
from thalweg.engine.core.stage_programs import Parcel, Passed, run_fed, run_source_pe
from thalweg.engine.local.blocks import Block, blocks_of
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.local.channel_stage import AtWork, StageRun, by_channel, run_in_turn
from thalweg.engine.local.messages import (
    DRIVER,
    END,
    Begin,
    ChannelError,
    Delivery,
    Done,
    Go,
    Job,
    Load,
    Sent,
    ToWorker,
)
from thalweg.runtime.ordering.wires import WiresMerger
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Program


class Worker:
    """The worker of one channel. `at_work` is called with the program of the PE that runs."""

    def __init__(self, channel: int, at_work: AtWork = lambda program: None) -> None:
        self.channel, self.at_work = channel, at_work
        self.job: Job | None = None
        self.pes = PEPool()
        self.state: dict[int, Buckets] = {}  # by stage, after the last complete epoch
        self.written: dict[int, Buckets] = {}  # by the epoch after that, which may have failed in another worker
        self.early: list[Delivery] = []  # of an epoch that has begun in other workers only
        self.run: _EpochRun | None = None

    def receive(self, message: ToWorker) -> list[Sent]:
        match message:
            case Load(job, state):
                self.job = job
                self.pes.close()
                self.state, self.written = dict(state), {}
                self.early, self.run = [], None
                return []
            case Begin():
                return self._begin(message)
            case Go(round, limit):
                if self.run is not None and self.run.begun.round == round:
                    self.run.limit = limit
                return []
            case Delivery():
                if self.run is None or message.round > self.run.begun.round:
                    self.early.append(message)
                else:
                    self.run.stages[message.stage - 1].arrive(message)
                return []
        raise AssertionError(message)

    def _begin(self, begun: Begin) -> list[Sent]:
        assert self.job is not None
        if begun.keep:
            for stage, buckets in self.written.items():
                self.state.setdefault(stage, {}).update(buckets)
        self.written = {}
        self.run = _EpochRun(self, self.job, begun)
        early, self.early = self.early, []
        for part in early:
            self.run.stages[part.stage - 1].arrive(part)
        return self.run.begin()

    @property
    def can_work(self) -> bool:
        return self.run is not None and self.run.can_work

    def work(self) -> list[Sent]:
        """Process one unit of work. Later stages come first and new blocks last, so that few tuples wait in mergers."""
        assert self.run is not None
        return self.run.work()


class _EpochRun:
    """One epoch in one worker."""

    def __init__(self, worker: Worker, job: Job, begun: Begin) -> None:
        self.worker, self.job, self.begun = worker, job, begun
        self.channel, self.limit = worker.channel, begun.limit
        self.passed = Passed()
        self.errors: list[ChannelError] = []
        self.blocks: deque[Block] = deque(blocks_of(begun.epoch, begun.rows, self.channel, job.readers))
        if begun.fed and not self.blocks:
            self.blocks.append(Block(0, begun.epoch.base, begun.epoch.base, END))
        self.unfed = bool(begun.fed)
        end = begun.epoch.base if begun.epoch.final else None
        self.stages = [
            StageRun(
                self._pes(programs),
                WiresMerger(job.channels, begun.first - 1),
                worker.state.get(stage, {}),
                self.passed,
                begun.epoch.number,
                end,
                worker.at_work,
            )
            for stage, programs in enumerate(job.programs[1:], 1)
        ]

    def begin(self) -> list[Sent]:
        """Send a pulse, so that other workers need not wait for this worker's first block."""
        if self.unfed:
            return []
        return self._send(1, [], self.blocks[0].first - 1 if self.blocks else END)

    @property
    def can_work(self) -> bool:
        can_read = bool(self.blocks) and self.blocks[0].number < self.limit
        return can_read or any(stage.ready for stage in self.stages)

    def work(self) -> list[Sent]:
        for number in range(len(self.stages), 0, -1):
            stage = self.stages[number - 1]
            if stage.ready:
                return self._send(number + 1, *self._run_stage(number, stage))
        block = self.blocks.popleft()
        return self._send(1, self._run_block(block), block.pulse)

    def _run_stage(self, number: int, stage: StageRun) -> tuple[list[Parcel], int]:
        try:
            return stage.run()
        except Exception as error:  # the driver raises it when all workers have finished
            self.errors.append(ChannelError((number, self.channel), error))
            stage.broken = True
            return [], stage.merger.last

    def _run_block(self, block: Block) -> list[Parcel]:
        first, *others = self._pes(self.job.programs[0])
        found: list[Parcel] = []
        try:
            if self.unfed:
                self.unfed = False
                found += run_fed(first, self.begun.fed, self.begun.epoch.base, self.passed)
            self.worker.at_work(first.program)
            pieces = block.pieces(self.begun.epoch)
            found += run_source_pe(first, self.job.inputs, pieces, self.passed)
            self.worker.at_work(None)
            return run_in_turn(others, found, self.passed, self.worker.at_work)
        except Exception as error:
            self.errors.append(ChannelError((0, block.number), error))
            return []

    def _pes(self, programs: Sequence[Program]) -> list[PE]:
        return [self.worker.pes.of(program, self.channel) for program in programs]

    def _send(self, stage: int, parcels: list[Parcel], pulse: int) -> list[Sent]:
        """Send to the channels of the next stage or, after the last stage, to the driver, for the sinks."""
        round = self.begun.round
        if stage == len(self.job.programs):
            (frames,) = by_channel([Parcel(0, p.wire, p.content) for p in parcels], 1)
            out: list[Sent] = [(DRIVER, Delivery(round, stage, self.channel, frames, pulse))]
            return [*out, (DRIVER, self._done())] if pulse == END else out
        spread = by_channel(parcels, self.job.channels)
        own = Delivery(round, stage, self.channel, spread[self.channel], pulse)
        self.stages[stage - 1].arrive(own)
        return [
            (channel, Delivery(round, stage, self.channel, frames, pulse))
            for channel, frames in enumerate(spread)
            if channel != self.channel
        ]

    def _done(self) -> Done:
        written = {number: stage.store.written for number, stage in enumerate(self.stages, 1)}
        self.worker.written = written
        held = {number: stage.merger.most_held for number, stage in enumerate(self.stages, 1)}
        passed = self.passed
        return Done(self.begun.round, self.channel, written, passed.counts, passed.failures, self.errors, held)
