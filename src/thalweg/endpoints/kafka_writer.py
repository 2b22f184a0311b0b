"""The Kafka sink: records through Spark's built-in connector, at least once.

The headers of a record identify its tuple, so that consumers of the topic can drop duplicates: an epoch that runs again
is sent again, with the same headers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from thalweg.endpoints.kafka import Kafka
from thalweg.endpoints.retry import deliver
from thalweg.endpoints.spark_options import revealed
from thalweg.engine.storage.tuple_lines import json_rows_of
from thalweg.errors import EngineError, InternalError
from thalweg.ir.attribute_text import to_json
from thalweg.ir.operators import Sink
from thalweg.ir.types import BYTES, STR, TupleType
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame

RUN, EPOCH, ROW = "thalweg-run", "thalweg-epoch", "thalweg-row"
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("headers", _HEADERS)])


class _Unsent(Exception):
    """The connector's error when it gave up; it has its own timeouts and retries."""


class KafkaSink:
    """An epoch is delivered when the brokers have acknowledged all of its records."""

    def __init__(
        self,
        sink: Sink,
        kafka: Kafka,
        tuple_type: TupleType,
        checkpoint: Path,
        write_rows: Callable[[pa.Table, str, Mapping[str, str]], None] | None,
    ) -> None:
        self.sink, self.kafka, self.tuple_type = sink, kafka, tuple_type
        self.checkpoint, self.write_rows = checkpoint, write_rows

    def claim(self, run: str, *, overwrite: bool) -> None:
        """A topic is shared: the headers identify the run and sink of a record."""

    def show(self, epoch: int, out: TextIO) -> None:
        """The output is in the topic."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        options = revealed(self.kafka.options)
        options |= {"kafka.bootstrap.servers": self.kafka.servers, "topic": self.kafka.topic, "includeHeaders": "true"}
        records = self._records(epoch, frame)
        deliver(
            lambda: self._send(records, options),
            sink=self.sink,
            epoch=epoch,
            to=self.kafka.title,
            retry_s=self.kafka.retry_s,
            expected=f"brokers that acknowledge it within {self.kafka.retry_s:g} s",
            is_temporary=lambda error: isinstance(error, _Unsent),
        )
        return len(frame)

    def _send(self, records: pa.Table, options: Mapping[str, str]) -> None:
        if self.write_rows is None:
            raise InternalError("a Kafka sink without Spark", operator=self.sink.name)
        try:
            self.write_rows(records, "kafka", options)
        except EngineError as error:
            raise _Unsent(error.found) from error

    def _records(self, epoch: int, frame: Frame) -> pa.Table:
        run = json.loads((self.checkpoint / "manifest.json").read_bytes())["run"]
        always = [{"key": RUN, "value": f"{run}/{self.sink.name}".encode()}, {"key": EPOCH, "value": b"%d" % epoch}]
        headers = [[*always, {"key": ROW, "value": b"%d" % row}] for row in range(len(frame))]
        columns = [self._keys(frame), self._values(frame), headers]
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)

    def _keys(self, frame: Frame) -> list[bytes | None]:
        if self.kafka.key is None:
            return [None] * len(frame)
        return self._texts(frame, self.kafka.key)

    def _values(self, frame: Frame) -> list[bytes | None]:
        if self.kafka.value != "json":
            return self._texts(frame, "value")
        return [json.dumps(row, ensure_ascii=False).encode() for row in json_rows_of(frame, self.tuple_type)]

    def _texts(self, frame: Frame, name: str) -> list[bytes | None]:
        """One attribute: bytes unchanged, a str as its text, everything else as JSON."""
        kind = self.tuple_type.kind(name)

        def encoded(value: Any) -> bytes:
            if kind.required is BYTES:
                return bytes(value)
            text = value if kind.required is STR else json.dumps(to_json(value, kind), ensure_ascii=False)
            return str(text).encode()

        return [None if value is None else encoded(value) for value in to_list(frame.columns[name])]
