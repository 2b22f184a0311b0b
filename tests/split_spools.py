"""Spools whose rows have concurrent splits, as a feeding query writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from thalweg.engine.inputs.split_rows import SPLIT, KnownSplits
from thalweg.engine.inputs.spool import End, Spool
from thalweg.ir.operators import Source

Known = Sequence[tuple[object, ...]]


def write_split_spool(
    source: Source, spools: Path, split_by: Sequence[str], batches: Iterable[tuple[pa.Table, Known]]
) -> None:
    """Each batch is a table and the splits that are known, in addition to those that have rows."""
    spool = Spool.of(spools, source.name)
    spool.open()
    for number, (table, known) in enumerate(batches):
        splits = KnownSplits(spool)  # as after a restart: only the folder knows the earlier ones
        numbered = splits.numbered(table, split_by, known)
        spool.write_table(number, numbered.select([*source.outputs[0].names, SPLIT]))
    spool.mark_end(End())
