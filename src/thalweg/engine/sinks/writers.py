"""Writers of sinks: called once per epoch, idempotent by the epoch's number."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from thalweg.engine.inputs.file_splits import STORED, SUFFIXES
from thalweg.engine.storage.json_lines import TO_TEXT
from thalweg.engine.storage.small_files import OWNER_FILE, is_leftover, remove_leftovers, write_atomically
from thalweg.engine.storage.tuple_lines import json_line, json_rows_of
from thalweg.errors import CheckpointError, OutputError
from thalweg.ir.endpoints import SinkSite
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime.arrow_types import Misfit, arrow_type, file_array
from thalweg.runtime.columns import Column, to_arrow, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.objects import from_stored, to_stored

_DONE = "_SUCCESS"


class SinkWriter(Protocol):
    """The interface of a sink for the engines. It has no memory: one may be created for each epoch, in any process."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Called before the first epoch of a start: make sure that there is no output of other runs."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        """Write the epoch's tuples and return their number. Called again for an epoch that is run again; if it raises,
        the epoch is not committed."""

    def show(self, epoch: int, out: TextIO) -> None:
        """Called in the driver when the epoch is complete: print its output, if there is any to print."""


class FileSink:
    """One file per epoch, written atomically. An epoch that is run again leaves its unchanged file alone."""

    private: ClassVar[bool] = False  # the output is the user's, whose umask decides about it

    def __init__(self, folder: Path, format: str, tuple_type: TupleType) -> None:
        self.folder, self.format, self.tuple_type = folder, format, tuple_type
        self.schema = pa.schema([self._field(name, kind) for name, kind in tuple_type.attributes])

    def _field(self, name: str, kind: AttributeType) -> pa.Field:
        text = self.format == "csv" and kind.required in TO_TEXT
        return pa.field(name, pa.string() if text else arrow_type(kind))

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Make sure that the folder contains no other run's output."""
        owner = self.folder / OWNER_FILE
        if owner.exists() and json.loads(owner.read_bytes())["run"] == run:
            remove_leftovers(self.folder)
            return
        present = sorted(self.folder.iterdir()) if self.folder.exists() else []
        strangers = [p for p in present if p.name != OWNER_FILE and not is_leftover(p)]
        ours = [p for p in strangers if p.name.startswith("epoch-") or p.name == _DONE]
        if strangers and not (overwrite and ours == strangers):
            raise CheckpointError(
                f"the sink's folder {self.folder} is not empty",
                found=", ".join(p.name for p in strangers[:3]),
                hint="use a different folder, or --overwrite to delete the output of an earlier run (and nothing else)",
            )
        for path in ours:
            path.unlink()
        self._write(owner, json.dumps({"run": run, "type": self.tuple_type.shown}).encode())
        remove_leftovers(self.folder)

    def _file(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:010d}{SUFFIXES[self.format][0]}"

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        """Write the epoch's tuples and return their number."""
        if frame is not None:
            self._put(self._file(epoch), self._encode(frame))
        if final:
            self._write(self.folder / _DONE, b"")
        return 0 if frame is None else len(frame)

    def _put(self, file: Path, data: bytes) -> None:
        """Write a file unless it has this content: readers identify files by their modification time, too."""
        if not (file.exists() and file.read_bytes() == data):
            self._write(file, data)

    def _write(self, file: Path, data: bytes) -> None:
        write_atomically(file, data, named=True, private=self.private)

    def show(self, epoch: int, out: TextIO) -> None:
        """Nothing is printed: the output is the files."""

    def _encode(self, frame: Frame) -> bytes:
        if self.format == "jsonl":
            return b"".join(map(json_line, json_rows_of(frame, self.tuple_type)))
        arrays = []
        for name, kind in self.tuple_type.attributes:
            try:
                arrays.append(self._array(frame.columns[name], kind).cast(self.schema.field(name).type))
            except Misfit as misfit:
                raise OutputError(
                    f"attribute {name} does not fit into the files of {self.folder}",
                    expected=misfit.expected,
                    found=misfit.found,
                    hint="round it, or give it a different type, in a .map() before the sink",
                ) from None
        return _encode(pa.Table.from_arrays(arrays, schema=self.schema), self.format)

    def _array(self, column: Column, kind: AttributeType) -> pa.Array:
        if not kind.boxed:
            return to_arrow(column)
        if self.format == "csv" and kind.required in TO_TEXT:
            text = TO_TEXT[kind.required]
            return pa.array([None if v is None else text(v) for v in to_list(column)], pa.string())
        return file_array(to_list(column), kind)

    @property
    def fits(self) -> bool:
        """Whether the tuples in the folder have the type of this sink."""
        owner = self.folder / OWNER_FILE
        return not owner.exists() or bool(json.loads(owner.read_bytes())["type"] == self.tuple_type.shown)

    def read(self) -> pa.Table:
        """All tuples written so far, in order."""
        files = sorted(self.folder.glob(f"epoch-*{SUFFIXES[self.format][0]}"))
        return pa.concat_tables([self.schema.empty_table(), *(pq.read_table(f, schema=self.schema) for f in files)])


class CollectSink(FileSink):
    """Keeps the tuples without loss: a file's types would lose digits of Decimals and time zones of datetimes."""

    private = True  # in the checkpoint

    def _field(self, name: str, kind: AttributeType) -> pa.Field:
        return pa.field(name, pa.binary(), metadata=STORED) if kind.boxed else super()._field(name, kind)

    def _array(self, column: Column, kind: AttributeType) -> pa.Array:
        return to_stored(column) if kind.boxed else super()._array(column, kind)


def _encode(table: pa.Table, format: str) -> bytes:
    out = io.BytesIO()
    if format == "arrow":
        with pa.ipc.new_file(out, table.schema) as file:
            file.write_table(table)
    elif format == "csv":
        pyarrow.csv.write_csv(table, out)
    else:
        # By default numbers get a dictionary, too; for floats that takes seven times as long and makes a larger file.
        pq.write_table(table, out, use_dictionary=[f.name for f in table.schema if f.type == pa.string()])
    return out.getvalue()


# Writes rows in a Spark format, with its options. Only the Spark engine has one.
WriteRows = Callable[[pa.Table, str, Mapping[str, str]], None]


def make_sinks(graph: LogicalGraph, results: Path, write_rows: WriteRows | None = None) -> dict[str, SinkWriter]:
    """The writer of each sink; `results` is the checkpoint's folder for output that the driver returns or prints."""
    return {
        sink.name: sink.endpoint.writer(SinkSite(sink, graph.type_of(sink.inputs[0]), results.parent, write_rows))
        for sink in graph.sinks
    }


def write_epoch(
    sinks: Mapping[str, SinkWriter], epoch: int, frames: Mapping[str, Frame | None], *, final: bool
) -> dict[str, int]:
    return {name: sink.write(epoch, frames.get(name), final=final) for name, sink in sinks.items()}


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The tuples of a collect sink, with the values of their columns' representation."""
    columns = [
        to_list(from_stored(column.combine_chunks())) if (field.metadata or {}) == STORED else column.to_pylist()
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return list(zip(*columns, strict=True)) if columns else []
