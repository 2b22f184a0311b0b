"""Sinks: written once per epoch, idempotent by the epoch's number."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from thalweg.engine.sink_console import ConsoleSink
from thalweg.engine.sink_tcp import TcpSink
from thalweg.engine.splits import ARROW_TYPES, SUFFIXES
from thalweg.engine.storage import is_leftover, remove_leftovers, write_atomically
from thalweg.errors import CheckpointError
from thalweg.ir.endpoints import Collect, Console, Discard, Files, Tcp
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Sink
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import to_arrow
from thalweg.runtime.frame import Frame

_OWNER, _DONE = "_thalweg.json", "_SUCCESS"


class SinkWriter(Protocol):
    """What an engine asks of a sink. One is made for each epoch, wherever it is written: it remembers nothing."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Before the first epoch of a start: make sure that nobody else's output is in the way."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        """The epoch's tuples; how many there were. Called again for an epoch that is run again; if it raises, the
        epoch is not committed."""

    def show(self, epoch: int, out: TextIO) -> None:
        """In the driver, once the epoch is whole: what the user should see of it."""


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

    def show(self, epoch: int, out: TextIO) -> None:
        """Files are looked at where they are."""


class CollectSink(FileSink):
    """Keeps its tuples in the checkpoint until the caller reads them."""

    def read(self) -> pa.Table:
        """All tuples written so far, in order."""
        files = sorted(self.folder.glob(f"epoch-*{SUFFIXES[self.format][0]}"))
        return pa.concat_tables([self.schema.empty_table(), *(pq.read_table(f, schema=self.schema) for f in files)])


def _encode(table: pa.Table, format: str) -> bytes:
    if format == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    out = io.BytesIO()
    if format == "arrow":
        with pa.ipc.new_file(out, table.schema) as file:
            file.write_table(table)
    elif format == "csv":
        pyarrow.csv.write_csv(table, out)
    else:
        # By default numbers get a dictionary too, which for floats is seven times the work and a larger file.
        pq.write_table(table, out, use_dictionary=[f.name for f in table.schema if f.type == pa.string()])
    return out.getvalue()


class NoSink:
    """Counts, and keeps nothing."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Nothing is in the way of nothing."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        return 0 if frame is None else len(frame)

    def show(self, epoch: int, out: TextIO) -> None:
        """There is nothing to see."""


Make = Callable[[Any, Sink, TupleType, Path], SinkWriter]
MAKERS: Mapping[type, Make] = {
    Files: lambda files, sink, type_, results: FileSink(Path(files.path).absolute(), files.format, type_),
    Collect: lambda collect, sink, type_, results: CollectSink(results / sink.name, "parquet", type_),
    Console: lambda console, sink, type_, results: ConsoleSink(results / sink.name, sink.name, console, type_),
    Tcp: lambda tcp, sink, type_, results: TcpSink(sink, tcp, type_),
    Discard: lambda discard, sink, type_, results: NoSink(),
}


def make_sinks(graph: LogicalGraph, results: Path) -> dict[str, SinkWriter]:
    """The writer of each sink; `results` is the part of the checkpoint for what the driver gives to the user."""
    return {
        sink.name: MAKERS[type(sink.endpoint)](sink.endpoint, sink, graph.type_of(sink.inputs[0]), results)
        for sink in graph.sinks
    }


def write_epoch(
    sinks: Mapping[str, SinkWriter], epoch: int, frames: Mapping[str, Frame | None], *, final: bool
) -> dict[str, int]:
    return {name: sink.write(epoch, frames.get(name), final=final) for name, sink in sinks.items()}


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_columns else []
