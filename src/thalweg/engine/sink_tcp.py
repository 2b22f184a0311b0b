"""The TCP sink: JSON lines, one connection per epoch.

TCP alone never says whether the other side read what was sent. So the sink closes its half of the connection behind the
epoch's last line and waits until the receiver, having read all, closes the other: only then is the epoch delivered.
"""

from __future__ import annotations

import socket
import time
from typing import TextIO

from thalweg.engine.lines import json_line, json_rows_of
from thalweg.errors import OutputError
from thalweg.ir.endpoints import Tcp
from thalweg.ir.operators import Sink
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame

EPOCH, ROW = "_epoch", "_row"  # no attribute begins with _


class TcpSink:
    """At least once: an epoch that is run again is sent again, with the same `_epoch` and `_row` in each line."""

    def __init__(self, sink: Sink, tcp: Tcp, tuple_type: TupleType) -> None:
        self.sink, self.tcp, self.tuple_type = sink, tcp, tuple_type

    def claim(self, run: str, *, overwrite: bool) -> None:
        """The receiver is asked for when there is something to send."""

    def show(self, epoch: int, out: TextIO) -> None:
        """The receiver has it."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        lines = [json_line(row | {EPOCH: epoch, ROW: n}) for n, row in enumerate(json_rows_of(frame, self.tuple_type))]
        deadline, pause = time.monotonic() + self.tcp.retry_s, 0.05
        while True:
            try:
                self._send(b"".join(lines))
                return len(frame)
            except OSError as error:
                if time.monotonic() + pause > deadline:
                    raise self._refused(epoch, error) from None
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _send(self, data: bytes) -> None:
        with socket.create_connection((self.tcp.host, self.tcp.port), timeout=self.tcp.retry_s) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):  # whatever it answers; its end says that it has read all
                pass

    def _refused(self, epoch: int, error: OSError) -> OutputError:
        return OutputError(
            f"epoch {epoch} cannot be delivered to {self.tcp.address}",
            operator=self.sink.name,
            where=self.sink.where,
            expected=f"a server that takes it within {self.tcp.retry_s:g} s, and closes when it has read all",
            found=str(error),
            hint="nothing is lost: start again on the same checkpoint, and this epoch is sent again",
        )
