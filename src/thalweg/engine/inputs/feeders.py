"""Feeders: threads of the driver that write a source's tuples into its spool.

A feeder runs ahead of the epochs by a bounded number of tuples: it reads their progress from the input log. When a run
stops, its feeders stop; tuples that are not spooled by then count as not taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from thalweg.engine.inputs.spool import End, Spool
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.log import InputLog
from thalweg.errors import EngineError, InternalError, StorageError, ThalwegError, summary
from thalweg.ir.endpoints import FedByDriver
from thalweg.ir.operators import Source

ROWS_PER_FILE = 16_384
_FLUSH_S, _POLL_S, _GRACE_S = 0.1, 0.02, 0.5


class Stopped(Exception):
    """The run is stopping: control flow of a feeder."""


class SpoolWriter:
    """Appends to a spool: writes a file when enough tuples are buffered, or when the flusher finds waiting tuples."""

    def __init__(
        self, source: Source, spool: Spool, room: Callable[[int], bool], rows_per_file: int = ROWS_PER_FILE
    ) -> None:
        spool.open()
        self.source, self.spool, self.rows_per_file = source, spool, rows_per_file
        self.files, self.tuples = spool.contents()
        self.stopped = threading.Event()
        self.failure: ThalwegError | None = None
        self._broken: ThalwegError | None = None
        self._room, self._grown = room, True
        self._rows: list[tuple[Any, ...]] = []
        self._skipped = self._noted = spool.waiting_skipped()
        self._lock = threading.Lock()

    def add(self, values: tuple[Any, ...]) -> None:
        with self._lock:
            self._check()
            self._rows.append(values)
            full = len(self._rows) >= self.rows_per_file
        if full:
            self.flush()
        if self._grown:  # by this thread or by the flusher
            self._grown = False
            while not self._room(self.tuples):
                self.wait(_POLL_S)

    def skip(self) -> None:
        with self._lock:
            self._check()
            self._skipped += 1

    def flush(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        if self._broken is not None:
            raise self._broken  # nothing may be written after a gap
        if self.stopped.is_set() or not (self._rows or self._skipped > self._noted):
            return
        try:
            if self._rows:
                self.spool.write(self.files, self._rows, self.source.outputs[0], self._skipped)
            else:
                self.spool.note_skipped(self.files, self._skipped)
        except (OSError, pa.ArrowException, StorageError) as error:
            self._broken = not_written(self.source, error)
            raise self._broken from None
        if not self._rows:
            self._noted = self._skipped
            return
        self.files += 1
        self.tuples += len(self._rows)
        self._rows, self._skipped, self._noted, self._grown = [], 0, 0, True

    def end(self, error: ThalwegError | None = None) -> None:
        """Mark the end of the spool, with its error if any. If that fails too, keep the error in `failure`."""
        with self._lock:
            self._check()
            try:
                self._write()
            except ThalwegError as broken:
                error = broken
            try:
                self.spool.mark_end(End(error, self._skipped))
            except (OSError, StorageError) as second:
                self.failure = error or not_written(self.source, second)

    def wait(self, seconds: float) -> None:
        self.stopped.wait(seconds)
        self._check()

    def stop(self) -> None:
        """Write nothing from now on, even if a thread that hangs in user code continues later."""
        with self._lock:
            self.stopped.set()

    def _check(self) -> None:
        if self.stopped.is_set():
            raise Stopped


class _Taken:
    """The number of tuples of a source that epochs in the input log took."""

    def __init__(self, log: InputLog, source: str) -> None:
        self.log, self.source, self.number, self.tuples = log, source, 0, 0

    def __call__(self) -> int:
        while (epoch := self.log.get(self.number)) is not None:
            self.tuples += sum(c.stop - c.start for c in epoch.chunks if c.source == self.source)
            self.number += 1
        return self.tuples


def feed(source: Source, out: SpoolWriter, *, follow: bool) -> None:
    """Feed until the source ends or fails, or the run stops."""
    try:
        if not isinstance(source.endpoint, FedByDriver):
            raise InternalError(f"{source.name} does not need a spool")
        source.endpoint.feed(source, out, follow=follow)
    except Stopped:
        return
    except ThalwegError as error:
        _end(out, error)
    except BaseException as error:  # a bug in Thalweg must not leave the run waiting forever
        _end(out, InternalError(summary(error), operator=source.name, where=source.where))
    else:
        _end(out, None)


def _end(out: SpoolWriter, error: ThalwegError | None) -> None:
    with suppress(Stopped):
        out.end(error)


@contextmanager
def feeding(
    sources: Sequence[Source], checkpoint: Checkpoint, *, max_tuples: int, follow: bool
) -> Iterator[Callable[[], None]]:
    """Feed the spools of these sources while the block runs.

    Yields a function to call from time to time: it raises an error that a feeder could not write into its spool.
    """
    wanted = [] if checkpoint.log.has_end else [s for s in sources if _is_to_feed(s, checkpoint)]
    writers = [
        SpoolWriter(s, Spool.of(checkpoint.spools, s.name), room_in_spool(checkpoint.log, s.name, max_tuples))
        for s in wanted
    ]
    threads = [
        threading.Thread(target=feed, args=(w.source, w), kwargs={"follow": follow}, daemon=True) for w in writers
    ]
    if writers:
        threads.append(threading.Thread(target=_flush, args=(writers,), daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield lambda: raise_first(writers)
    finally:
        for writer in writers:
            writer.stop()
        for thread in threads:
            thread.join(_GRACE_S)


def _is_to_feed(source: Source, checkpoint: Checkpoint) -> bool:
    """A source that has ended is not read again; a source that failed is."""
    end = Spool.of(checkpoint.spools, source.name).end()
    return isinstance(source.endpoint, FedByDriver) and (end is None or end.error is not None)


def room_in_spool(log: InputLog, source: str, max_tuples: int) -> Callable[[int], bool]:
    """One full epoch may wait while another is running; more would only fill the disk."""
    taken = _Taken(log, source)
    return lambda spooled: spooled - taken() < 2 * max_tuples


class Failing(Protocol):
    """A feeder that keeps the error that it could not record in its spool."""

    failure: ThalwegError | None


def raise_first(feeders: Iterable[Failing]) -> None:
    for feeder in feeders:
        if feeder.failure is not None:
            raise feeder.failure


def not_written(source: Source, error: Exception) -> ThalwegError:
    """The error of a spool that cannot be written."""
    if isinstance(error, StorageError):
        return error
    return EngineError("the spool cannot be written", operator=source.name, found=str(error))


def _flush(writers: Sequence[SpoolWriter]) -> None:
    while not all(writer.stopped.wait(_FLUSH_S / len(writers)) for writer in writers):
        for writer in writers:
            try:
                writer.flush()
            except ThalwegError as error:
                _end(writer, error)
                writers = [w for w in writers if w is not writer]


def spool_items(
    sources: Sequence[Source], spools: Path, limit: int | None = None, rows_per_file: int = ROWS_PER_FILE
) -> None:
    """Spool the sources that need it in the calling thread, at most `limit` tuples of each: for a sample."""
    for source in sources:
        if isinstance(source.endpoint, FedByDriver) and not source.endpoint.no_sample:
            out = SpoolWriter(source, Spool.of(spools, source.name), lambda spooled: True, rows_per_file)
            source.endpoint.feed(source, out, follow=False, limit=limit)
            out.end()
