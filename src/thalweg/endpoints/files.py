"""`tw.files`: folders of files, as a source and as a sink; and the folders through which applications share streams."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from thalweg.engine.storage.small_files import OWNER_FILE
from thalweg.errors import GraphError, Where, shown
from thalweg.ir.arguments import checked, choice
from thalweg.ir.endpoints import ReadAgain, SinkEndpoint, SinkSite, Target
from thalweg.ir.expr import Expr
from thalweg.ir.operators import Policy, Source
from thalweg.ir.types import TupleType

if TYPE_CHECKING:
    from thalweg.engine.inputs.file_splits import FileSplits
    from thalweg.engine.inputs.readers import InputReader
    from thalweg.engine.sinks.writers import FileSink

FORMATS = ("parquet", "csv", "jsonl", "arrow")


@checked
def files(
    path: str | Path, *, format: Annotated[str, choice(*FORMATS)] = "parquet", on_error: Policy = "fail"
) -> Files:
    """A folder of files. A source reads them in the order of their names; a new file comes after all files read before.

    `on_error` decides how invalid rows are handled: they stop the run (fail), are skipped and counted (skip), or go to
    the source's `dead_letters` (dead_letter).
    """
    return Files(str(path), format, on_error=on_error)


@dataclass(frozen=True, slots=True)
class Files(ReadAgain, SinkEndpoint):
    """A folder (or, for a source, one file) and its format."""

    path: str
    format: str
    exported: bool = False  # a folder through which applications share a stream: it may not exist yet
    on_error: str = "fail"  # of a source: how invalid rows are handled

    call = "tw.files(…)"
    needs_spark = False
    no_sample = ""
    endless = None
    concurrent_splits = 1
    numbered = None
    placed = True
    shows_order = True
    source_row = (
        "`tw.files(path, format=…)`",
        "a row of a file: `parquet` (by row group), `csv`, `jsonl`, `arrow` (IPC file, by record batch, or IPC stream)",
        "file name, row; a new file comes after all files taken before",
        "yes, from the files",
        "exactly once",
    )
    sink_row = (
        "`tw.files(folder, format=…)`",
        "one file per epoch: `parquet`, `csv`, `jsonl`, `arrow`",
        "kept",
        "exactly once",
    )

    @property
    def identity(self) -> str:
        return "files"

    @property
    def waits(self) -> bool:
        return False

    @property
    def folder(self) -> str:
        return str(Path(self.path).absolute())

    @property
    def row_policy(self) -> str:
        return self.on_error

    @property
    def skips_unwanted(self) -> bool:
        """Parquet row groups, by their statistics. If invalid rows are counted, everything is read."""
        return self.format == "parquet" and self.on_error == "fail"

    @property
    def target(self) -> Target:
        """Files are named by epoch: two sinks in one folder would silently overwrite each other's files."""
        return Target(("folder", self.folder), "folder", self.folder)

    def check_source(self, tuple_type: TupleType, where: Where) -> None:
        """Reject a format that cannot hold the tuple type."""
        if self.format != "csv":
            return
        if [kind.optional for _, kind in tuple_type.attributes] == [True]:
            raise GraphError(
                f"csv cannot hold {tuple_type}, whose only attribute may be None",
                where=where,
                expected="an attribute that is never None",
                hint="None would be an empty line, which readers skip",
            )
        for name, kind in tuple_type.attributes:
            if kind.composite:
                raise GraphError(
                    f"csv cannot hold {name}: {kind}",
                    where=where,
                    expected="scalar attributes",
                    found=str(tuple_type),
                    hint='format="parquet" or "jsonl" holds lists and nested tuples',
                )

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        self.check_source(tuple_type, where)
        if self.on_error != "fail":
            raise GraphError(
                "on_error applies only to a source of files",
                where=where,
                expected="tw.files(…) without on_error",
                found=f"on_error={self.on_error!r}",
                hint="on_error= of the operator before the sink handles tuples on which that operator fails",
            )

    def at_once(self) -> Files:
        return self

    def nothing_to_read(self) -> str | None:
        from thalweg.engine.inputs.folder_contents import nothing_to_read

        return nothing_to_read(self.path, self.format)

    def read_in_vain(self) -> str:
        from thalweg.engine.inputs.folder_contents import without_rows

        return without_rows(self.path, self.format)

    def splits(self, source: Source) -> FileSplits:
        from thalweg.engine.inputs.file_splits import FileSplits

        return FileSplits(source, self.path, self.format, may_be_missing=self.exported)

    def reader(self, source: Source, columns: tuple[str, ...], wanted: Expr | None) -> InputReader:
        from thalweg.engine.inputs.file_splits import FileReader
        from thalweg.engine.inputs.tolerant_files import TolerantReader

        if self.on_error != "fail":  # reads everything: invalid rows are counted, even unneeded ones
            return TolerantReader(source.name, self.format, self.on_error, source.outputs[0], columns)
        return FileReader(source.name, self.format, source.outputs[0], columns, wanted=wanted)

    def writer(self, site: SinkSite) -> FileSink:
        from thalweg.engine.sinks.writers import FileSink

        return FileSink(Path(self.folder), self.format, site.tuple_type)


def exported(name: str, tuple_type: TupleType, where: Where) -> Files:
    """The folder of an exported stream: Arrow files, in a folder of its name below `exports/` or $THALWEG_EXPORTS.

    The writer records the tuple type in the folder, so a different type is rejected before anything runs.
    """
    check_export(name, where)
    folder = Path(os.environ.get("THALWEG_EXPORTS", "exports")) / name
    owner = folder / OWNER_FILE
    found = json.loads(owner.read_bytes()).get("type") if owner.exists() else None
    if found is not None and found != tuple_type.shown:
        raise GraphError(
            f"the exported stream {name} has a different type", where=where, expected=found, found=tuple_type.shown
        )
    return Files(str(folder), "arrow", exported=True)


def check_export(name: str, where: Where) -> None:
    good = isinstance(name, str) and name and all(c.isalnum() or c in "-_." for c in name) and name[0] not in "._"
    if not good:
        raise GraphError("bad export name", where=where, expected="letters, digits, - _ .", found=shown(name))
