"""The input of the reference: the tuples of a piece of the log, as the readers of all runs return them, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.inputs.tolerant_files import TolerantReader
from thalweg.engine.storage.log import Piece
from thalweg.ir.operators import BAD_RECORD
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import rows
from thalweg.verify.reference_per_tuple import OrderKey


def tuples_in_order(reader: InputReader, piece: Piece) -> Iterator[tuple[OrderKey, int, Any]]:
    """Order key, output port and tuple: the tuples that were read, and dead letters for invalid rows."""
    if isinstance(reader, TolerantReader):
        found = list(reader.read(piece, 4096))
        letters = [row for one in found for row in _rows(one.letters, BAD_RECORD, 1)]
        tuples = [row for one in found for row in _rows(one.tuples, reader.tuple_type, 0)]
        yield from sorted([*tuples, *letters], key=lambda row: row[0])
        return
    for frame in reader.frames(piece, 4096):
        yield from _rows(frame, reader.tuple_type, 0)


def _rows(frame: Frame | None, tuple_type: TupleType, port: int) -> Iterator[tuple[OrderKey, int, Any]]:
    if frame is not None:
        yield from ((frame.order_key(at), port, row) for at, row in enumerate(rows(frame, tuple_type)))
