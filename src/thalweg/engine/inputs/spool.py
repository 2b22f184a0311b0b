"""Spools: the tuples of a source that cannot be read twice, as files in the checkpoint.

A thread of the driver appends, the cutter (on Spark in another process) takes, tasks read. They share only the
folder: `0000000000.arrow`, `0000000001.arrow`, …, each complete and on disk before it gets its name, and `end.json`
when the source has ended or failed: then no more files follow. `dropped.json` records how many of the first files were
deleted, and how many tuples they contained. `skipped.json` records how many invalid items came after the last file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from thalweg.engine.inputs.arrow_files import count_arrow_rows
from thalweg.engine.inputs.file_splits import Pending
from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.engine.storage.log import Chunk, Epoch
from thalweg.engine.storage.small_files import create_atomically, private_folder, remove_leftovers, write_atomically
from thalweg.errors import ThalwegError
from thalweg.ir.operators import Source
from thalweg.ir.types import TupleType
from thalweg.runtime.objects import to_stored
from thalweg.runtime.row_functions import columns_of

_BATCH_ROWS = 16_384
_SKIPPED = b"thalweg.skipped"


@dataclass(frozen=True, slots=True)
class End:
    """The source has ended, normally or with an error. `skipped`: the invalid items after the last file."""

    error: ThalwegError | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """The number of files deleted at the start of a spool, and of the tuples in them."""

    files: int = 0
    tuples: int = 0


@dataclass(frozen=True, slots=True)
class Spool:
    """The spool folder of one source."""

    folder: Path

    @staticmethod
    def of(spools: Path, source: str) -> Spool:
        return Spool(spools / f"{quote(source, safe='')}.spool")  # a name may be `input/1` or `..`

    def file(self, number: int) -> Path:
        return self.folder / f"{number:010d}.arrow"

    def open(self, *, again: bool = False) -> None:
        """Only for the process that owns the checkpoint: make the folder, remove partial files and an earlier failure;
        with `again`, for a source that can continue after its end, also that end."""
        private_folder(self.folder)
        remove_leftovers(self.folder)
        self._delete(self.dropped())
        end = self.end()
        if end is not None and (again or end.error is not None):
            self._end_file.unlink()

    def contents(self) -> tuple[int, int]:
        """The number of files, including deleted ones, and the number of tuples in them."""
        files, tuples = (dropped := self.dropped()).files, dropped.tuples
        while (file := self.file(files)).exists():
            tuples += count_arrow_rows(str(file))
            files += 1
        return files, tuples

    def write(self, number: int, rows: Sequence[tuple[Any, ...]], tuple_type: TupleType, skipped: int = 0) -> None:
        """Write the file with this number. It must not exist: a file that an epoch has taken is never overwritten.
        `skipped`: how many invalid items came since the file before."""
        arrays = {n: to_stored(column) for n, column in columns_of(rows, tuple_type).items()}
        schema = pa.schema([(name, array.type) for name, array in arrays.items()], {_SKIPPED: str(skipped).encode()})
        out = io.BytesIO()
        with pa.ipc.new_file(out, schema) as file:
            file.write_batch(pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema))
        create_atomically(self.file(number), out.getvalue())

    def write_table(self, number: int, table: pa.Table) -> None:
        """The same for rows in Arrow's types, as a Spark feeding query receives them."""
        out = io.BytesIO()
        with pa.ipc.new_file(out, table.schema) as file:
            file.write_table(table, max_chunksize=_BATCH_ROWS)  # an epoch that takes a part reads only its batches
        create_atomically(self.file(number), out.getvalue())

    @property
    def _dropped_file(self) -> Path:
        return self.folder / "dropped.json"

    def dropped(self) -> Dropped:
        return Dropped(**json.loads(self._dropped_file.read_bytes())) if self._dropped_file.exists() else Dropped()

    def drop(self, files: int) -> None:
        """Delete the files before this number. Their tuples are recorded first: a feeder relies on their number."""
        before = self.dropped()
        tuples = sum(count_arrow_rows(str(self.file(number))) for number in range(before.files, files))
        now = Dropped(files, before.tuples + tuples)
        write_atomically(self._dropped_file, json.dumps(asdict(now)).encode(), named=True)
        self._delete(now)

    def _delete(self, dropped: Dropped) -> None:
        for file in [f for f in self.folder.glob("*.arrow") if int(f.stem) < dropped.files]:
            file.unlink()

    @property
    def _end_file(self) -> Path:
        return self.folder / "end.json"

    def mark_end(self, end: End) -> None:
        document = {"error": to_document(end.error) if end.error else None, "skipped": end.skipped}
        write_atomically(self._end_file, json.dumps(document).encode())

    def end(self) -> End | None:
        if not self._end_file.exists():
            return None
        document = json.loads(self._end_file.read_bytes())
        error = from_document(document["error"]) if document["error"] else None
        return End(error, document.get("skipped", 0))

    @property
    def _skipped_file(self) -> Path:
        return self.folder / "skipped.json"

    def note_skipped(self, files: int, skipped: int) -> None:
        """Record the invalid items that came after this number of files; the next file or the end has them, too."""
        document = {"files": files, "skipped": skipped}
        write_atomically(self._skipped_file, json.dumps(document).encode(), named=True)

    def waiting_skipped(self) -> int:
        """The invalid items that came after the last file."""
        if not self._skipped_file.exists():
            return 0
        noted = json.loads(self._skipped_file.read_bytes())
        in_a_file = noted["files"] < self.dropped().files or self.file(noted["files"]).exists()
        return 0 if in_a_file else int(noted["skipped"])

    def skipped(self, epoch: Epoch, source: str) -> int:
        """The invalid items that came just before the tuples that an epoch took first, or before the end."""
        begun = [chunk for chunk in epoch.chunks if chunk.source == source and chunk.start == 0]
        end = self.end() if epoch.final else None
        return sum(_skipped_before(chunk.path) for chunk in begun) + (0 if end is None else end.skipped)


def _skipped_before(path: str) -> int:
    with pa.memory_map(path) as file:
        return int((pa.ipc.open_file(file).schema.metadata or {}).get(_SKIPPED, 0))


class SpoolSplits:
    """The cutter's view of a spool: one file after another, by number, so the folder is never listed."""

    def __init__(self, source: Source, spool: Spool, *, patient: bool) -> None:
        self.source, self.spool, self.patient = source, spool, patient
        self.pending = Pending()
        self.files = 0  # the number of known files
        self.end: End | None = None

    def took(self, chunk: Chunk) -> None:
        self.files = max(self.files, chunk.split + 1)
        self.pending.took(chunk)

    def look(self) -> None:
        self.end = self.end or self.spool.end()  # before the files: after an end there are none
        while (file := self.spool.file(self.files)).exists():
            stat, rows = file.stat(), count_arrow_rows(str(file))
            if rows:  # a batch of a feeding query may be empty
                self.pending.add(
                    Chunk(self.source.name, self.files, str(file), 0, rows, rows, stat.st_size, stat.st_mtime_ns)
                )
            self.files += 1

    @property
    def open(self) -> bool:
        return self.end is None

    def take(self, limit: int) -> Iterator[Chunk]:
        """An error follows all tuples that came before it: epochs take those first."""
        if not self.pending.tuples and self.end is not None and self.end.error is not None:
            raise self.end.error
        return self.pending.take(limit)

    def backlog(self) -> int:
        return self.pending.tuples
