"""The checkpoint folder: manifest, input log, progress by epoch, results, and the engine's own part."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.engine.storage.log import InputLog
from thalweg.engine.storage.manifest import Manifest, check_restart, continued
from thalweg.engine.storage.migration_marks import refuse_moved
from thalweg.engine.storage.numbered_files import NumberedFiles
from thalweg.engine.storage.report import EpochReport, Lost
from thalweg.engine.storage.seed import Seed
from thalweg.engine.storage.small_files import (
    is_leftover,
    open_private,
    private_folder,
    remove_leftovers,
    write_atomically,
    writing,
)
from thalweg.errors import CheckpointError, StorageError, ThalwegError
from thalweg.runtime.plain_pickles import plain_loads

__all__ = ["Checkpoint", "Cut", "EpochReport", "LocalState"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Written by the process that cut an epoch: the tuples known to be waiting, and how long cutting took."""

    epoch: int
    backlog: int
    seconds: float


class Checkpoint:
    """One run's folder. Only one process may work on it at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.log = InputLog(self.folder / "log")
        self.spark = self.folder / "spark"
        self.results = self.folder / "results"
        self.feedback = self.folder / "feedback"
        self.spools = self.folder / "spool"
        self.seed = Seed(self.folder / "seed")
        self._failure = self.folder / "failure.json"
        self.progress = NumberedFiles(self.folder / "progress")
        self._cut = self.progress.folder / "cut.json"
        self._stop = self.folder / "stop"
        self._ended = self.folder / "ended"
        self._lock: IO[str] | None = None

    def open(self, wanted: Manifest) -> Manifest:
        """Lock the folder. Returns a new manifest, or the old one if this start is compatible with it."""
        if self.folder.is_file():
            raise CheckpointError("a checkpoint is a folder", found=f"a file: {self.folder}")
        with writing(self.folder):
            for folder in (self.folder, self.spark):
                private_folder(folder)
            self.take_lock()
        manifest = self._fitting(wanted)
        if self.has_ended:  # nothing will be run
            return manifest
        self._failure.unlink(missing_ok=True)
        self._stop.unlink(missing_ok=True)
        for folder in (self.folder, self.log.folder, self.progress.folder, self.folder / "local"):
            if folder.exists():
                remove_leftovers(folder)
        for numbered in (self.log.files, self.progress):
            numbered.compact()
        return manifest

    @property
    def run(self) -> str:
        """The id of the run that this checkpoint belongs to."""
        return Manifest.from_json((self.folder / "manifest.json").read_bytes()).run

    def _fitting(self, wanted: Manifest) -> Manifest:
        file = self.folder / "manifest.json"
        refuse_moved(self.folder)
        if not file.exists():
            ours = (self.spark.name, "lock")
            strangers = sorted(p.name for p in self.folder.iterdir() if p.name not in ours and not is_leftover(p))
            if strangers:
                raise CheckpointError(
                    f"{self.folder} is not a Thalweg checkpoint",
                    expected="an empty folder",
                    found=", ".join(strangers[:5]),
                )
            write_atomically(file, wanted.to_json(), named=True)
            return wanted
        manifest = Manifest.from_json(file.read_bytes())
        check_restart(manifest, wanted)
        updated = manifest if self.has_ended else continued(manifest, wanted)
        if updated != manifest:
            write_atomically(file, updated.to_json(), named=True)
        return updated

    def take_lock(self) -> None:
        self._lock = open_private(self.folder / "lock")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(f"another process is working on {self.folder}") from None

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def mark_ended(self) -> None:
        write_atomically(self._ended, b"", named=True)

    @property
    def has_ended(self) -> bool:
        """Whether the final epoch is complete: all windows are closed, and no epoch can follow."""
        return self._ended.exists()

    # Progress: one entry per epoch.

    def report(self, report: EpochReport) -> None:
        self.progress.put(report.epoch, json.dumps(report.to_document()).encode())

    def reports(self, first: int) -> Iterator[EpochReport]:
        """The reports from this epoch on, up to the first missing one."""
        return (EpochReport.from_document(json.loads(line)) for line in self.progress.after(first))

    def lost_before(self, epoch: int) -> dict[str, Lost]:
        """What was lost from the first start up to this epoch, without it."""
        line = self.progress.get(epoch - 1) if epoch else None
        return {} if line is None else EpochReport.from_document(json.loads(line)).lost_in_run

    def lost(self) -> dict[str, Lost]:
        """What was lost from the first start up to the last epoch."""
        line = self.progress.last()
        return {} if line is None else EpochReport.from_document(json.loads(line)).lost_in_run

    def note_cut(self, cut: Cut) -> None:
        write_atomically(self._cut, json.dumps(asdict(cut)).encode(), durable=False)

    def cut_of(self, epoch: int) -> Cut | None:
        """None if the epoch was cut by an earlier start."""
        if not self._cut.exists():
            return None
        cut = Cut(**json.loads(self._cut.read_bytes()))
        return cut if cut.epoch == epoch else None

    # A request to stop between two epochs, for the process that cuts them.

    def ask_to_stop(self) -> None:
        write_atomically(self._stop, b"", durable=False)

    @property
    def is_to_stop(self) -> bool:
        return self._stop.exists()

    # Errors of the parts that run in other processes.

    def record_failure(self, error: ThalwegError) -> None:
        """Store an error for the driver. Only the first one is kept, because later ones are its consequences. On a full
        disk nothing is stored: the error is still raised, and the driver finds the reason in the engine's output."""
        if not self._failure.exists():
            with suppress(StorageError):
                write_atomically(self._failure, json.dumps(to_document(error)).encode())

    def failure(self) -> ThalwegError | None:
        if not self._failure.exists():
            return None
        return from_document(json.loads(self._failure.read_bytes()))


class LocalState:
    """The local engine's part: a snapshot of the state per epoch, and the number of the last committed epoch."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.folder = checkpoint.folder / "local"

    def _snapshot(self, epoch: int) -> Path:
        return self.folder / f"state-{epoch:010d}"

    def load(self) -> tuple[int, dict[tuple[int, int], dict[int, bytes]]] | None:
        """The number of the next epoch, and the state before it; None if no epoch was committed here."""
        committed = self.folder / "committed"
        if not committed.exists():
            return None
        epoch = int(committed.read_text())
        found = plain_loads(self._snapshot(epoch).read_bytes())
        if not isinstance(found, dict):
            raise CheckpointError(f"the state in {self.folder} cannot be read", found=repr(found))
        return epoch + 1, found

    def save(self, epoch: int, state: dict[tuple[int, int], dict[int, bytes]]) -> None:
        write_atomically(self._snapshot(epoch), pickle.dumps(state, protocol=5))

    def commit(self, epoch: int) -> None:
        write_atomically(self.folder / "committed", str(epoch).encode())
        old = self._snapshot(epoch - 1)
        if old.exists():
            os.unlink(old)
