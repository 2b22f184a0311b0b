"""The TCP sink: JSON lines, one connection per epoch.

TCP alone does not report whether the receiver read what was sent. So the sink closes its half of the connection after
the epoch's last line and waits until the receiver has read everything and closes the other half. Only then is the epoch
delivered.
"""

from __future__ import annotations

import socket
from typing import TextIO

from thalweg.endpoints.retry import deliver
from thalweg.endpoints.tcp import Tcp
from thalweg.engine.storage.tuple_lines import json_line, json_rows_of
from thalweg.ir.endpoints import POSITION_COLUMNS
from thalweg.ir.operators import Sink
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame

EPOCH, ROW = POSITION_COLUMNS


class TcpSink:
    """At least once: an epoch that runs again is sent again, with the same `_epoch` and `_row` in each line."""

    def __init__(self, sink: Sink, tcp: Tcp, tuple_type: TupleType) -> None:
        self.sink, self.tcp, self.tuple_type = sink, tcp, tuple_type

    def claim(self, run: str, *, overwrite: bool) -> None:
        """The sink connects only when it has tuples to send."""

    def show(self, epoch: int, out: TextIO) -> None:
        """The output is at the receiver."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        lines = [json_line(row | {EPOCH: epoch, ROW: n}) for n, row in enumerate(json_rows_of(frame, self.tuple_type))]
        data = b"".join(lines)
        deliver(
            lambda: self._send(data),
            sink=self.sink,
            epoch=epoch,
            to=self.tcp.address,
            retry_s=self.tcp.retry_s,
            expected=f"a server that accepts it within {self.tcp.retry_s:g} s and closes after reading everything",
            is_temporary=lambda error: isinstance(error, OSError),
        )
        return len(frame)

    def _send(self, data: bytes) -> None:
        with socket.create_connection((self.tcp.host, self.tcp.port), timeout=self.tcp.retry_s) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):  # ignored; its end means that the receiver has read everything
                pass
