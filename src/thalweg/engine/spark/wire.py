"""Rows between PEs: (channel, stream, frame). The JVM moves them and never looks inside."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from thalweg.engine.stages import Parcel
from thalweg.runtime.container import Failure

SCHEMA = "channel int, stream int, frame binary"
ARROW_SCHEMA = pa.schema([("channel", pa.int32()), ("stream", pa.int32()), ("frame", pa.binary())])

PULSE, FAILURES, LEFT_OUT = -1, -2, -3  # streams beside the wires

Row = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class Pulse:
    """Reaches every channel in every epoch, so that every channel is called, also without tuples."""

    epoch: int
    final: bool
    base: int

    def row(self, label: int) -> Row:
        return label, PULSE, json.dumps([self.epoch, self.final, self.base]).encode()

    @staticmethod
    def read(content: bytes) -> Pulse:
        return Pulse(*json.loads(content))


def parcel_rows(parcels: Iterable[Parcel], labels: tuple[int, ...]) -> Iterator[Row]:
    for parcel in parcels:
        yield labels[parcel.channel], parcel.wire, parcel.sealed


def failure_rows(failures: list[Failure], label: int) -> Iterator[Row]:
    if failures:
        yield label, FAILURES, pickle.dumps(failures)


def read_failures(data: bytes) -> list[Failure]:
    found: list[Failure] = pickle.loads(data)
    return found


def left_out_rows(left_out: dict[str, int], label: int) -> Iterator[Row]:
    """How many rows of each source's files a task left out."""
    if left_out:
        yield label, LEFT_OUT, json.dumps(left_out).encode()


def batch(row: Row) -> pa.RecordBatch:
    """One row per batch: frames are large, and the next PE can start on the first."""
    columns = [pa.array([value], field.type) for value, field in zip(row, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
