"""Loops: the tuples that an epoch feeds back are kept until the next epoch has taken them.

They are not part of the input log, because they follow from the log. Each epoch writes one file into the checkpoint,
together with the sinks, before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from thalweg.engine.storage.log import Epoch
from thalweg.engine.storage.small_files import write_atomically
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.runtime.frame import Frame, decode, encode

_KEPT = 2  # a running epoch reads its predecessor's file, also when it is run again
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
        """Nothing to claim: the files are in the checkpoint, which belongs to this run."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or final:
            self._file(epoch).unlink(missing_ok=True)
        else:
            write_atomically(self._file(epoch), encode(frame))
        self._file(epoch - _KEPT).unlink(missing_ok=True)
        return 0 if frame is None else len(frame)

    def show(self, epoch: int, out: TextIO) -> None:
        """Nothing to show: the tuples are fed back."""

    def read(self, epoch: int) -> Frame | None:
        file = self._file(epoch)
        return decode(file.read_bytes()) if file.exists() else None


def stored_feedback(folder: Path, loops: Iterable[str], epoch: int) -> dict[str, Frame]:
    """The tuples that this epoch fed back, by feedback operator."""
    found = {loop: FeedSink.of(folder, loop).read(epoch) for loop in loops}
    return {loop: frame for loop, frame in found.items() if frame is not None}


def fed_back(graph: LogicalGraph, found: Mapping[str, Frame | None]) -> dict[str, Frame]:
    """The same, from the frames that the sinks of an epoch received."""
    feeds = {loop: found[sink.name] for sink in graph.sinks if (loop := sink.endpoint.feeds) is not None}
    made = {loop.name: feeds.get(loop.name) for loop in graph.loops}
    return {loop: frame for loop, frame in made.items() if frame is not None}


def until_nothing_is_fed(log: Iterable[Epoch], pending: Callable[[], bool]) -> Iterator[Epoch]:
    """The log, with epochs for pending feedback inserted before the final one. The log of a run already has them."""
    for epoch in log:
        rounds = 0
        while epoch.final and pending():
            if rounds == _ROUNDS:
                raise PlanError(f"a loop does not terminate: {_ROUNDS} consecutive epochs fed tuples back")
            yield Epoch(epoch.number + rounds, (), base=epoch.base)
            rounds += 1
        yield replace(epoch, number=epoch.number + rounds)
