"""The epoch cutter: chooses the tuples of the next epoch, and records them in the input log before they are used."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from thalweg.engine.inputs.file_splits import FileSplits
from thalweg.engine.inputs.readers import make_splits
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.ir.operators import Source

_POLL_S = 0.02


class EpochCutter:
    """Appends epochs to the input log: polls each source, takes its tuples in order, cuts at a number of tuples."""

    def __init__(
        self,
        sources: Sequence[Source],
        log: InputLog,
        max_tuples: int,
        spools: Path | None = None,
        interval_s: float = 0.0,
    ) -> None:
        self.log, self.max_tuples, self.interval_s = log, max_tuples, interval_s
        self._list_at = 0.0
        self.splits = {s.name: make_splits(s, spools) for s in sources}
        self.number = 0
        self.base = 0
        self.ended = False
        for epoch in log:
            self._took(epoch)

    def _took(self, epoch: Epoch) -> None:
        for chunk in epoch.chunks:
            self.splits[chunk.source].took(chunk)
        self.number, self.base, self.ended = epoch.number + 1, epoch.base + epoch.tuples, epoch.final

    def backlog(self) -> int:
        return sum(splits.backlog() for splits in self.splits.values())

    @property
    def wait_s(self) -> float:
        """The time to wait before the next poll: a source that reports its own end is polled often."""
        return min(_POLL_S, self.interval_s) if self._may_come else self.interval_s

    @property
    def _may_come(self) -> bool:
        return any(s.open for s in self.splits.values())

    def _look(self) -> None:
        """Poll for new tuples. If some source is polled more often, folders are still listed only once per interval.
        When all such sources have ended, folders are listed once more: files that exist by then are part of the run."""
        looked = [s for s in self.splits.values() if s.open]
        for splits in looked:
            splits.look()
        now = time.monotonic()
        if now >= self._list_at or not self._may_come:
            self._list_at = now + self.interval_s
            for splits in [s for s in self.splits.values() if s not in looked]:
                splits.look()

    def next_epoch(self, *, closing: bool, idle: bool = False) -> Epoch | None:
        """Cut and log the next epoch. None: nothing new yet; or, when closing, the final epoch was cut before.

        `idle`: cut an epoch without tuples if nothing is new: for tuples that were fed back, and for tests.
        """
        if self.ended:
            return None
        everything = list(self.splits.values())
        self._look()
        # At least one tuple of each source, or a small limit would starve later sources.
        share = max(1, self.max_tuples // len(everything))
        if closing and any(s.open and s.patient and s.backlog() < share for s in everything):
            return None
        # Checked before taking: an end that is seen only afterwards may come with more tuples.
        may_come = self._may_come
        chunks = tuple(c for splits in everything for c in splits.take(share))
        if not chunks and not idle and (may_come or not closing):
            return None
        epoch = Epoch(self.number, chunks, final=not chunks and not idle, base=self.base)
        self.log.append(epoch)
        self._took(epoch)
        return epoch


def untaken_files(sources: Sequence[Source], log: InputLog, spools: Path) -> Iterator[str]:
    """Warnings about files of a finished run's sources that it did not take, or that changed since."""
    for name, splits in EpochCutter(sources, log, 1, spools).splits.items():
        if isinstance(splits, FileSplits) and (files := splits.untaken()):
            many = f"{len(files):,} files of {name} are" if len(files) > 1 else f"a file of {name} is"
            more = ", …" if len(files) > 1 else ""
            yield (
                f"{many} new or changed since the run ended: {files[0]}{more}; to process them, start over with a new "
                "--checkpoint (with --follow, a run takes new files)"
            )
