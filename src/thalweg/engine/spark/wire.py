"""Rows between PEs: (channel, stream, frame). The JVM transports them and never decodes the frames."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from thalweg.engine.core.stage_programs import Parcel, Passed
from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.errors import ThalwegError
from thalweg.runtime.pe_counts import Counts, Spent
from thalweg.runtime.pe_program import Failure

SCHEMA = "channel int, stream int, frame binary"
ARROW_SCHEMA = pa.schema([("channel", pa.int32()), ("stream", pa.int32()), ("frame", pa.binary())])

PULSE, FAILURES, COUNTS, ERRORS = -1, -2, -3, -4  # streams in addition to the wires

Row = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class EpochPulse:
    """Sent to every channel in every epoch, so that every channel is called, even without tuples."""

    epoch: int
    final: bool
    base: int

    def row(self, label: int) -> Row:
        return label, PULSE, json.dumps([self.epoch, self.final, self.base]).encode()

    @staticmethod
    def read(content: bytes) -> EpochPulse:
        return EpochPulse(*json.loads(content))


def parcel_rows(parcels: Iterable[Parcel], labels: tuple[int, ...], spent: Spent) -> Iterator[Row]:
    for parcel in parcels:
        with spent.working():
            sealed = parcel.sealed
        yield labels[parcel.channel], parcel.wire, sealed


def passed_rows(passed: Passed, label: int) -> Iterator[Row]:
    """The rows that are sent in addition to the parcels: failures and counts."""
    if passed.failures:
        yield label, FAILURES, pickle.dumps(passed.failures)
    yield label, COUNTS, pickle.dumps(passed.counts)


def error_row(error: ThalwegError, part: int, label: int) -> Row:
    """An error in a task that stops the epoch. It is sent as a row because Spark would retry a task that raises."""
    return label, ERRORS, json.dumps([part, to_document(error)]).encode()


def first_error(contents: list[bytes]) -> ThalwegError:
    """The error of the first part of the input, whichever task finished first."""
    _, document = min((json.loads(content) for content in contents), key=lambda found: found[0])
    return from_document(document)


def read_failures(data: bytes) -> list[Failure]:
    found: list[Failure] = pickle.loads(data)
    return found


def read_counts(data: bytes) -> Counts:
    found: Counts = pickle.loads(data)
    return found


def batch(row: Row) -> pa.RecordBatch:
    """A batch of one row: frames are large, and the next PE can start with the first one."""
    columns = [pa.array([value], field.type) for value, field in zip(row, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
