"""Notes that record which PE each Python worker is running, in case the worker dies.

A worker that dies (os._exit, a segmentation fault, the kernel's OOM killer) reports nothing, and Spark does not know
about PEs. So each task of a PE keeps a note in the checkpoint while it runs; a note that remains belongs to a task that
died. Its first byte tells whether operators were running or the PE was waiting for frames: the PEs of a task run
concurrently and die together.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from pyspark import TaskContext

from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.engine.storage.small_files import private_folder, write_atomically
from thalweg.errors import ThalwegError
from thalweg.ir.pe_id import PeId
from thalweg.runtime.pe_program import Program

T = TypeVar("T")
_RUNNING, _WAITING = b"r", b"w"


@dataclass(frozen=True, slots=True)
class Note:
    """The PE that a task was running, and where."""

    task: int
    pe: PeId
    operators: tuple[str, ...]
    host: str


@dataclass(frozen=True, slots=True)
class TaskNote:
    """The note of a running task."""

    descriptor: int

    def running(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items that operators produce. Time between two items is not marked as running."""
        making = iter(items)
        while True:
            os.pwrite(self.descriptor, _RUNNING, 0)
            try:
                item = next(making)
            except StopIteration:
                return
            finally:
                os.pwrite(self.descriptor, _WAITING, 0)
            yield item


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """The folder of notes."""

    folder: str

    @staticmethod
    def of(checkpoint: Path | str) -> NoteFolder:
        return NoteFolder(str(Path(checkpoint) / "working"))

    @contextmanager
    def note(self, program: Program) -> Iterator[TaskNote]:
        """Keep a note of this task while the block runs."""
        context = TaskContext.get()
        assert context is not None
        note = Note(context.taskAttemptId(), program.id, tuple(program.operators), socket.gethostname())
        file = Path(self.folder) / f"{note.task}-{program.fingerprint}"
        private_folder(file.parent)
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, _WAITING + json.dumps(asdict(note)).encode())
            yield TaskNote(descriptor)
        finally:
            os.close(descriptor)
            file.unlink(missing_ok=True)

    def keep_error(self, error: ThalwegError) -> None:
        """Store an error that does not stop the run."""
        document = json.dumps(to_document(error)).encode()
        write_atomically(Path(self.folder) / f"error-{error.operator}.json", document, durable=False)

    def errors(self) -> list[ThalwegError]:
        """The errors that did not stop the run."""
        files = sorted(Path(self.folder).glob("error-*.json"))
        return [from_document(json.loads(file.read_text())) for file in files]

    def left(self, task: int) -> list[Note]:
        """The PEs of a dead task: those whose operators were running, or all PEs if none were."""
        found: dict[Note, bytes] = {}
        for file in sorted(Path(self.folder).glob(f"{task}-*")):
            with suppress(FileNotFoundError):
                content = file.read_bytes()
                document = json.loads(content[1:])
                document |= {"pe": PeId(*document["pe"]), "operators": tuple(document["operators"])}
                found[Note(**document)] = content[:1]
        return [note for note, state in found.items() if state == _RUNNING] or list(found)

    def clear(self) -> None:
        """Remove all notes. Call this only before a query starts."""
        shutil.rmtree(self.folder, ignore_errors=True)
