"""The checkpoint folder: manifest, input log, progress by epoch, results, and the engine's own part."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from thalweg.engine.failures import from_document, to_document
from thalweg.engine.log import InputLog
from thalweg.engine.manifest import Manifest, check_restart
from thalweg.engine.storage import is_leftover, remove_leftovers, write_atomically
from thalweg.errors import CheckpointError, ThalwegError


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch did. Kept in storage: whoever watches reads it there."""

    epoch: int
    final: bool
    tuples_in: int
    tuples_out: dict[str, int]
    seconds: float
    backlog: int | None  # known files' tuples that wait; None where another process cuts the epochs


class Checkpoint:
    """One run's folder. Only one process may work on it at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.log = InputLog(self.folder / "log")
        self.spark = self.folder / "spark"
        self.results = self.folder / "results"
        self.feedback = self.folder / "feedback"
        self.spools = self.folder / "spool"
        self._failure = self.folder / "failure.json"
        self._progress = self.folder / "progress"
        self._stop = self.folder / "stop"
        self._lock: IO[str] | None = None

    def open(self, wanted: Manifest) -> Manifest:
        """Take the folder for this process: a new manifest, or the old one if this start fits it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        manifest = self._fitting(wanted)
        self._failure.unlink(missing_ok=True)
        self._stop.unlink(missing_ok=True)
        for folder in (self.folder, self.log.folder, self._progress, self.folder / "local"):
            if folder.exists():
                remove_leftovers(folder)
        return manifest

    def _fitting(self, wanted: Manifest) -> Manifest:
        file = self.folder / "manifest.json"
        if not file.exists():
            strangers = sorted(p.name for p in self.folder.iterdir() if p.name != "lock" and not is_leftover(p))
            if strangers:
                raise CheckpointError(
                    f"{self.folder} is no checkpoint of Thalweg",
                    expected="an empty folder",
                    found=", ".join(strangers[:5]),
                )
            write_atomically(file, wanted.to_json())
            return wanted
        manifest = Manifest.from_json(file.read_bytes())
        if (self.folder / "ended").exists():
            raise CheckpointError(
                f"the run of {self.folder} has ended: its windows were closed",
                hint="start anew with another --checkpoint; to go on later, run with --follow",
            )
        check_restart(manifest, wanted)
        return manifest

    def _take_lock(self) -> None:
        self._lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(f"another process is working on {self.folder}") from None

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def mark_ended(self) -> None:
        write_atomically(self.folder / "ended", b"")

    # Progress: one file per epoch.

    def report(self, report: EpochReport) -> None:
        file = self._progress / f"{report.epoch:010d}.json"
        write_atomically(file, json.dumps(asdict(report)).encode(), durable=False)

    def reports(self, first: int) -> Iterator[EpochReport]:
        """The reports from this epoch on, as far as they are there."""
        while (file := self._progress / f"{first:010d}.json").exists():
            yield EpochReport(**json.loads(file.read_bytes()))
            first += 1

    # A stop between two epochs, for the process that cuts them.

    def ask_to_stop(self) -> None:
        write_atomically(self._stop, b"", durable=False)

    @property
    def is_to_stop(self) -> bool:
        return self._stop.exists()

    # Errors of the parts that run in other processes.

    def record_failure(self, error: ThalwegError) -> None:
        """Keep an error for the driver; the first one stays, later ones follow from it."""
        if not self._failure.exists():
            write_atomically(self._failure, json.dumps(to_document(error)).encode())

    def failure(self) -> ThalwegError | None:
        if not self._failure.exists():
            return None
        return from_document(json.loads(self._failure.read_bytes()))


class LocalState:
    """The local engine's part: a snapshot of the state per epoch, and which epoch was the last whole one."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.folder = checkpoint.folder / "local"

    def _snapshot(self, epoch: int) -> Path:
        return self.folder / f"state-{epoch:010d}"

    def load(self) -> tuple[int, dict[tuple[int, int], dict[int, bytes]]]:
        """The number of the next epoch, and the state before it."""
        committed = self.folder / "committed"
        if not committed.exists():
            return 0, {}
        epoch = int(committed.read_text())
        return epoch + 1, pickle.loads(self._snapshot(epoch).read_bytes())

    def save(self, epoch: int, state: dict[tuple[int, int], dict[int, bytes]]) -> None:
        write_atomically(self._snapshot(epoch), pickle.dumps(state, protocol=5))

    def commit(self, epoch: int) -> None:
        write_atomically(self.folder / "committed", str(epoch).encode())
        old = self._snapshot(epoch - 1)
        if old.exists():
            os.unlink(old)
