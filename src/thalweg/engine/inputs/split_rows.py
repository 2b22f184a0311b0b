"""The concurrent splits of the rows of a spool, such as the partitions of a topic.

A file of such a spool has a column with the split of each row. Splits are numbered in the order in which they became
known; `splits.json` in the spool has their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.inputs.arrow_files import read_arrow
from thalweg.engine.inputs.file_splits import FileReader
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.engine.storage.small_files import write_atomically
from thalweg.errors import InputError
from thalweg.ir.origins import MOST_SPLITS, split_number
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame

SPLIT = "_split"  # no attribute begins with _
_BETWEEN = "\x1f"  # the values in the name of a split


class KnownSplits:
    """The splits of one spool that are known so far, in the order of their numbers."""

    def __init__(self, spool: Spool) -> None:
        self.file = spool.folder / "splits.json"
        self.names: list[str] = json.loads(self.file.read_bytes()) if self.file.exists() else []

    def numbered(self, table: pa.Table, columns: Sequence[str], known: Iterable[tuple[object, ...]] = ()) -> pa.Table:
        """The rows with their split, which is given by the values in these columns. `known`: splits that exist,
        whether they have rows or not. Splits are on disk before a file refers to them."""
        names = _names(table, columns)
        found = [_BETWEEN.join(map(str, split)) for split in known] + names.dictionary.to_pylist()
        added = [name for name in dict.fromkeys(found) if name not in self.names]
        if added:
            self._add(added)
        numbers = {name: number for number, name in enumerate(self.names)}
        others = len(numbers) - 1
        codes = [split_number(numbers[name], others) for name in names.dictionary.to_pylist()]
        return table.append_column(SPLIT, pa.array(codes, pa.int64()).take(names.indices))

    def _add(self, names: list[str]) -> None:
        if len(self.names) + len(names) > MOST_SPLITS:
            raise InputError(
                "the rows have too many concurrent splits",
                expected=f"at most {MOST_SPLITS:,}",
                found=f"{len(self.names) + len(names):,}",
                hint="split_by names columns with few values, such as the partition of a topic",
            )
        self.names += names
        write_atomically(self.file, json.dumps(self.names).encode(), named=True)


def _names(table: pa.Table, columns: Sequence[str]) -> pa.DictionaryArray:
    texts = [table[name].cast(pa.string()).fill_null("") for name in columns]
    return pc.binary_join_element_wise(*texts, _BETWEEN).combine_chunks().dictionary_encode()


@dataclass(frozen=True, slots=True)
class SplitReader:
    """Reads the rows of a spool with the number of their origin in their order keys. `origin`: the number of the
    source. The rows of a file without splits, from before they were stored, are all of the first one."""

    rows: FileReader
    origin: int

    @property
    def tuple_type(self) -> TupleType:
        return self.rows.tuple_type

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        origins = self.origin + _splits(piece.chunk)
        for frame in self.rows.frames(piece, frame_rows):
            those = origins[frame.position - piece.position]
            same = len(those) > 0 and bool((those == those[0]).all())
            yield frame.with_sub(int(those[0]) if same else those)


def _splits(chunk: Chunk) -> Array:
    table = read_arrow(chunk.path, chunk.start, chunk.stop, (SPLIT,), chunk.source)
    if SPLIT not in table.column_names:
        return np.zeros(chunk.stop - chunk.start, np.int64)
    splits: Array = table[SPLIT].to_numpy()
    return splits
