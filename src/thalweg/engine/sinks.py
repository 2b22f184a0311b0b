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

from thalweg.engine.splits import ARROW_TYPES, SUFFIXES
from thalweg.engine.storage import is_leftover, remove_leftovers, write_atomically
from thalweg.errors import CheckpointError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Files, Sink
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import to_arrow
from thalweg.runtime.frame import Frame

_OWNER, _DONE = "_thalweg.json", "_SUCCESS"


class FileSink:
    """One file per epoch, whole or not at all. An epoch that is run again writes the same file again."""

    def __init__(self, folder: Path, format: str, tuple_type: TupleType) -> None:
        self.folder, self.format = folder, format
        self.schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in tuple_type.attributes])

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
            columns = [to_arrow(frame.columns[f.name]).cast(f.type) for f in self.schema]
            write_atomically(self._file(epoch), _encode(pa.Table.from_arrays(columns, schema=self.schema), self.format))
        if final:
            write_atomically(self.folder / _DONE, b"")
        return 0 if frame is None else len(frame)

    def read(self) -> pa.Table:
        """All tuples written so far, in order."""
        files = sorted(self.folder.glob(f"epoch-*{SUFFIXES[self.format][0]}"))
        return pa.concat_tables([self.schema.empty_table(), *(pq.read_table(f, schema=self.schema) for f in files)])


def _encode(table: pa.Table, format: str) -> bytes:
    if format == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    out = io.BytesIO()
    if format == "csv":
        pyarrow.csv.write_csv(table, out)
    else:
        # By default numbers get a dictionary too, which for floats is seven times the work and a larger file.
        pq.write_table(table, out, use_dictionary=[f.name for f in table.schema if f.type == pa.string()])
    return out.getvalue()


def make_sinks(graph: LogicalGraph, results: Path) -> dict[str, FileSink]:
    """The writer of each sink. What a collect sink takes lies in the checkpoint until the caller reads it."""

    def make(sink: Sink) -> FileSink:
        tuple_type = graph.type_of(sink.inputs[0])
        if isinstance(sink.endpoint, Files):
            return FileSink(Path(sink.endpoint.path).absolute(), sink.endpoint.format, tuple_type)
        return FileSink(results / sink.name, "parquet", tuple_type)

    return {sink.name: make(sink) for sink in graph.sinks}


def write_epoch(
    sinks: Mapping[str, FileSink], epoch: int, frames: Mapping[str, Frame | None], *, final: bool
) -> dict[str, int]:
    return {name: sink.write(epoch, frames.get(name), final=final) for name, sink in sinks.items()}


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_columns else []
