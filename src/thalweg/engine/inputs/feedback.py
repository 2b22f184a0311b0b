"""Loops: what an epoch feeds back is kept until the next epoch has taken it.

It is no part of the input log, because it follows from the log. Each epoch's is one file in the checkpoint, written
with the sinks, before the epoch is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from thalweg.engine.storage.log import Epoch
from thalweg.engine.storage.small_files import write_atomically
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.runtime.frame import Frame, decode, encode

_KEPT = 2  # the epoch that is at work reads its predecessor's, also when it is run again
_ROUNDS = 10_000


class FeedSink:
    """One file per epoch and loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def of(folder: Path, loop: str) -> FeedSink:
        return FeedSink(folder / quote(loop, safe=""))

    def _file(self, epoch: int) -> Path:
        return self.folder / f"{epoch:010d}"

    def claim(self, run: str, *, overwrite: bool) -> None:
        """It lies in the checkpoint, which belongs to this run."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or final:
            self._file(epoch).unlink(missing_ok=True)
        else:
            write_atomically(self._file(epoch), encode(frame))
        self._file(epoch - _KEPT).unlink(missing_ok=True)
        return 0 if frame is None else len(frame)

    def show(self, epoch: int, out: TextIO) -> None:
        """It is on its way back."""

    def read(self, epoch: int) -> Frame | None:
        file = self._file(epoch)
        return decode(file.read_bytes()) if file.exists() else None


def stored_feedback(folder: Path, loops: Iterable[str], epoch: int) -> dict[str, Frame]:
    """What this epoch fed back, by feedback operator."""
    found = {loop: FeedSink.of(folder, loop).read(epoch) for loop in loops}
    return {loop: frame for loop, frame in found.items() if frame is not None}


def fed_back(graph: LogicalGraph, found: Mapping[str, Frame | None]) -> dict[str, Frame]:
    """The same, from what the sinks of an epoch got."""
    feeds = {loop: found[sink.name] for sink in graph.sinks if (loop := sink.endpoint.feeds) is not None}
    made = {loop.name: feeds.get(loop.name) for loop in graph.loops}
    return {loop: frame for loop, frame in made.items() if frame is not None}


def until_nothing_is_fed(log: Iterable[Epoch], pending: Callable[[], bool]) -> Iterator[Epoch]:
    """The log, with epochs for what is still fed back before its final one. A run's own log has them already."""
    for epoch in log:
        rounds = 0
        while epoch.final and pending():
            if rounds == _ROUNDS:
                raise PlanError(f"a loop does not come to an end: {_ROUNDS} epochs fed something back")
            rounds += 1
            yield Epoch(epoch.number, (), base=epoch.base)
        yield epoch
