"""Sinks: written once per epoch, idempotent by the epoch's number."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from thalweg.engine.filetypes import Misfit, arrow_type, file_array
from thalweg.engine.splits import SUFFIXES
from thalweg.engine.storage import is_leftover, remove_leftovers, write_atomically
from thalweg.engine.textforms import TO_TEXT, to_json
from thalweg.errors import CheckpointError, OutputError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Files, Sink
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime.columns import Column, to_arrow, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.objects import from_stored, to_stored

_OWNER, _DONE = "_thalweg.json", "_SUCCESS"
_STORED = {b"thalweg": b"stored"}  # marks a column of pickled values


class FileSink:
    """One file per epoch, whole or not at all. An epoch that is run again writes the same file again."""

    def __init__(self, folder: Path, format: str, tuple_type: TupleType) -> None:
        self.folder, self.format, self.tuple_type = folder, format, tuple_type
        self.schema = pa.schema([self._field(name, kind) for name, kind in tuple_type.attributes])

    def _field(self, name: str, kind: AttributeType) -> pa.Field:
        text = self.format == "csv" and kind.required in TO_TEXT
        return pa.field(name, pa.string() if text else arrow_type(kind))

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Make sure that the folder holds no other run's output."""
        owner = self.folder / _OWNER
        if owner.exists() and json.loads(owner.read_bytes())["run"] == run:
            remove_leftovers(self.folder)
            return
        present = sorted(self.folder.iterdir()) if self.folder.exists() else []
        strangers = [p for p in present if p.name != _OWNER and not is_leftover(p)]
        ours = [p for p in strangers if p.name.startswith("epoch-") or p.name == _DONE]
        if strangers and not (overwrite and ours == strangers):
            raise CheckpointError(
                f"the sink's folder {self.folder} is not empty",
                found=", ".join(p.name for p in strangers[:3]),
                hint="name another folder, or --overwrite to delete the output of an earlier run (and nothing else)",
            )
        for path in ours:
            path.unlink()
        write_atomically(owner, json.dumps({"run": run}).encode())
        remove_leftovers(self.folder)

    def _file(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:010d}{SUFFIXES[self.format][0]}"

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        """The epoch's tuples; how many there were."""
        if frame is not None:
            write_atomically(self._file(epoch), self._encode(frame))
        if final:
            write_atomically(self.folder / _DONE, b"")
        return 0 if frame is None else len(frame)

    def _encode(self, frame: Frame) -> bytes:
        if self.format == "jsonl":
            return _json_lines(frame, self.tuple_type)
        arrays = []
        for name, kind in self.tuple_type.attributes:
            try:
                arrays.append(self._array(frame.columns[name], kind).cast(self.schema.field(name).type))
            except Misfit as misfit:
                raise OutputError(
                    f"attribute {name} does not fit into the files of {self.folder}",
                    expected=misfit.expected,
                    found=misfit.found,
                    hint="round it, or give it another type, in a .map() before the sink",
                ) from None
        return _encode(pa.Table.from_arrays(arrays, schema=self.schema), self.format)

    def _array(self, column: Column, kind: AttributeType) -> pa.Array:
        if not kind.boxed:
            return to_arrow(column)
        if self.format == "csv" and kind.required in TO_TEXT:
            text = TO_TEXT[kind.required]
            return pa.array([None if v is None else text(v) for v in to_list(column)], pa.string())
        return file_array(to_list(column), kind)

    def read(self) -> pa.Table:
        """All tuples written so far, in order."""
        files = sorted(self.folder.glob(f"epoch-*{SUFFIXES[self.format][0]}"))
        return pa.concat_tables([self.schema.empty_table(), *(pq.read_table(f, schema=self.schema) for f in files)])


class CollectSink(FileSink):
    """Keeps the tuples exactly for the caller: a file's types would lose digits of Decimals and zones of datetimes."""

    def _field(self, name: str, kind: AttributeType) -> pa.Field:
        return pa.field(name, pa.binary(), metadata=_STORED) if kind.boxed else super()._field(name, kind)

    def _array(self, column: Column, kind: AttributeType) -> pa.Array:
        return to_stored(column) if kind.boxed else super()._array(column, kind)


def _encode(table: pa.Table, format: str) -> bytes:
    out = io.BytesIO()
    if format == "csv":
        pyarrow.csv.write_csv(table, out)
    else:
        # By default numbers get a dictionary too, which for floats is seven times the work and a larger file.
        pq.write_table(table, out, use_dictionary=[f.name for f in table.schema if f.type == pa.string()])
    return out.getvalue()


def _json_lines(frame: Frame, tuple_type: TupleType) -> bytes:
    columns = [
        [to_json(v, kind) for v in to_list(frame.columns[name])] if kind.boxed else to_list(frame.columns[name])
        for name, kind in tuple_type.attributes
    ]
    rows = (dict(zip(tuple_type.names, values, strict=True)) for values in zip(*columns, strict=True))
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def make_sinks(graph: LogicalGraph, results: Path) -> dict[str, FileSink]:
    """The writer of each sink. What a collect sink takes lies in the checkpoint until the caller reads it."""

    def make(sink: Sink) -> FileSink:
        tuple_type = graph.type_of(sink.inputs[0])
        if isinstance(sink.endpoint, Files):
            return FileSink(Path(sink.endpoint.path).absolute(), sink.endpoint.format, tuple_type)
        return CollectSink(results / sink.name, "parquet", tuple_type)

    return {sink.name: make(sink) for sink in graph.sinks}


def write_epoch(
    sinks: Mapping[str, FileSink], epoch: int, frames: Mapping[str, Frame | None], *, final: bool
) -> dict[str, int]:
    return {name: sink.write(epoch, frames.get(name), final=final) for name, sink in sinks.items()}


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The tuples that a collect sink kept, their values as columns carry them."""
    columns = [
        to_list(from_stored(column.combine_chunks())) if (field.metadata or {}) == _STORED else column.to_pylist()
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return list(zip(*columns, strict=True)) if columns else []
