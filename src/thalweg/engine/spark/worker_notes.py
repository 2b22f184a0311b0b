"""Notes of what Python workers are at, for the case that one dies at it.

A worker that dies (os._exit, a segmentation fault, the kernel's memory killer) says nothing, and Spark knows no PEs. So
each task of a PE has a note in the checkpoint while it works: whose note is left, died. Its first byte says whether
operators are running or frames are awaited: the PEs of a task work side by side, and die together.
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

from thalweg.ir.pe_id import PeId
from thalweg.runtime.program import Program

T = TypeVar("T")
_RUNNING, _WAITING = b"r", b"w"


@dataclass(frozen=True, slots=True)
class Note:
    """What one PE of one task was at."""

    task: int
    pe: PeId
    operators: tuple[str, ...]
    host: str


@dataclass(frozen=True, slots=True)
class AtWork:
    """The note of a task that works."""

    descriptor: int

    def running(self, items: Iterable[T]) -> Iterator[T]:
        """The items that operators make; what happens between two of them is not the operators'."""
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
class Notes:
    """The folder of notes."""

    folder: str

    @staticmethod
    def of(checkpoint: Path | str) -> Notes:
        return Notes(str(Path(checkpoint) / "working"))

    @contextmanager
    def note(self, program: Program) -> Iterator[AtWork]:
        """A note of this task while the block lasts."""
        context = TaskContext.get()
        assert context is not None
        note = Note(context.taskAttemptId(), program.id, tuple(program.operators), socket.gethostname())
        file = Path(self.folder) / f"{note.task}-{program.fingerprint}"
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, _WAITING + json.dumps(asdict(note)).encode())
            yield AtWork(descriptor)
        finally:
            os.close(descriptor)
            file.unlink(missing_ok=True)

    def left(self, task: int) -> list[Note]:
        """The PEs of a dead task: those whose operators were running, or all if none was."""
        found: dict[Note, bytes] = {}
        for file in sorted(Path(self.folder).glob(f"{task}-*")):
            with suppress(FileNotFoundError):
                content = file.read_bytes()
                document = json.loads(content[1:])
                document |= {"pe": PeId(*document["pe"]), "operators": tuple(document["operators"])}
                found[Note(**document)] = content[:1]
        return [note for note, state in found.items() if state == _RUNNING] or list(found)

    def clear(self) -> None:
        """Only before a query starts."""
        shutil.rmtree(self.folder, ignore_errors=True)
