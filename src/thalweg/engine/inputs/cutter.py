"""The epoch cutter: decides which tuples the next epoch takes, and says so in the input log before anybody uses it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from thalweg.engine.inputs.readers import make_splits
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.ir.operators import Source

_POLL_S = 0.02


class EpochCutter:
    """Appends epochs to the input log: looks what each source has, takes it in order, cuts at a number of tuples."""

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
        """How long to wait before the next look: a source that says itself when it ends is looked at often."""
        return min(_POLL_S, self.interval_s) if self._may_come else self.interval_s

    @property
    def _may_come(self) -> bool:
        return any(s.open for s in self.splits.values())

    def _look(self) -> None:
        """See what is new. Folders are listed once per interval beside a source that is looked at more often; when all
        such sources have ended, they are listed behind that: what was there before is in the run."""
        looked = [s for s in self.splits.values() if s.open]
        for splits in looked:
            splits.look()
        now = time.monotonic()
        if now >= self._list_at or not self._may_come:
            self._list_at = now + self.interval_s
            for splits in [s for s in self.splits.values() if s not in looked]:
                splits.look()

    def next_epoch(self, *, closing: bool, idle: bool = False) -> Epoch | None:
        """The next epoch, logged. None: nothing new yet; or, when closing, the final epoch was cut before.

        `idle`: an epoch also when nothing is new, without tuples: for what was fed back, and for tests.
        """
        if self.ended:
            return None
        everything = list(self.splits.values())
        self._look()
        # At least one tuple of each source, or a small limit would starve the later ones.
        share = max(1, self.max_tuples // len(everything))
        if closing and any(s.open and s.patient and s.backlog() < share for s in everything):
            return None
        # Asked before the take: an end that is seen only afterwards may have come with more tuples.
        may_come = self._may_come
        chunks = tuple(c for splits in everything for c in splits.take(share))
        if not chunks and not idle and (may_come or not closing):
            return None
        epoch = Epoch(self.number, chunks, final=not chunks and not idle, base=self.base)
        self.log.append(epoch)
        self._took(epoch)
        return epoch
