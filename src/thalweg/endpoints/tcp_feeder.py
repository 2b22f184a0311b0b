"""The feeder of a TCP source: lines from a server, or from a client that connects."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.endpoints.retry import keep_trying
from thalweg.endpoints.tcp import Tcp
from thalweg.engine.storage.tuple_lines import LineParser, line_parser
from thalweg.errors import InputError
from thalweg.ir.endpoints import FeederTarget
from thalweg.ir.operators import Source

_POLL_S = 0.1  # how soon a feeder that waits for the network notices that the run has ended
_RECEIVE = 1 << 16
MAX_LINE = 1 << 24


def feed_tcp(source: Source, tcp: Tcp, out: FeederTarget, *, follow: bool) -> None:
    """Read until the peer closes; with `follow`, continue with the next connection."""
    parse = line_parser(tcp.format, source.outputs[0])
    with _connections(source, tcp, out) as connections:
        for connection in connections:
            with connection:
                lines = _Lines(source, tcp, parse)
                try:
                    for data in _received(connection, out):
                        lines.take(data, out)
                except OSError as error:
                    if not follow:
                        raise _broken(source, tcp, error) from None
                else:
                    lines.rest(out)
            if not follow:
                return
            out.wait(_POLL_S)  # no busy loop if a server closes immediately


@contextmanager
def _connections(source: Source, tcp: Tcp, out: FeederTarget) -> Iterator[Iterator[socket.socket]]:
    if not tcp.listen:
        yield _connect(source, tcp, out)
        return
    family = socket.AF_INET6 if ":" in tcp.host else socket.AF_INET
    try:
        server = socket.create_server((tcp.host, tcp.port), family=family)
    except OSError as error:
        raise InputError(
            f"cannot listen on {tcp.address}", operator=source.name, where=source.where, found=str(error)
        ) from None
    with server:
        yield _accept(server, out)


def _accept(server: socket.socket, out: FeederTarget) -> Iterator[socket.socket]:
    server.settimeout(_POLL_S)
    while True:
        out.wait(0)
        try:
            yield server.accept()[0]
        except TimeoutError:
            continue


def _connect(source: Source, tcp: Tcp, out: FeederTarget) -> Iterator[socket.socket]:
    """One connection after the other; if the server does not answer, retry for a while."""

    def connect() -> socket.socket:
        out.wait(0)
        return socket.create_connection((tcp.host, tcp.port), timeout=tcp.retry_s)

    while True:
        yield keep_trying(
            connect,
            seconds=tcp.retry_s,
            is_temporary=lambda error: isinstance(error, OSError),
            give_up=lambda error: _refused(source, tcp, error),
            wait=out.wait,
        )


def _received(connection: socket.socket, out: FeederTarget) -> Iterator[bytes]:
    """The received bytes, until the peer closes."""
    connection.settimeout(_POLL_S)
    while True:
        try:
            data = connection.recv(_RECEIVE)
        except TimeoutError:
            out.wait(0)
            continue
        if not data:
            return
        yield data


class _Lines:
    """Splits the bytes of one connection into lines and parses them into tuples."""

    def __init__(self, source: Source, tcp: Tcp, parse: LineParser) -> None:
        self.source, self.tcp, self.parse = source, tcp, parse
        self.number = 0
        self.begun = b""  # the incomplete last line

    def take(self, data: bytes, out: FeederTarget) -> None:
        *whole, self.begun = (self.begun + data).split(b"\n")
        for line in whole:
            self._line(line, out)
        if len(self.begun) > MAX_LINE:
            raise self._bad(self.begun[:80], ValueError(f"the line is longer than {MAX_LINE} bytes"))

    def rest(self, out: FeederTarget) -> None:
        """The peer closed: the last line may lack its newline."""
        if self.begun:
            self._line(self.begun, out)

    def _line(self, line: bytes, out: FeederTarget) -> None:
        self.number += 1
        try:
            values = self.parse(line.removesuffix(b"\r").decode())
        except (ValueError, RecursionError) as error:  # json and the decoder raise subclasses of these
            if self.tcp.on_error == "skip":
                out.skip()
                return
            raise self._bad(line, error) from None
        if values is not None:
            out.add(values)

    def _bad(self, line: bytes, error: Exception) -> InputError:
        return InputError(
            f"line {self.number} from {self.tcp.address} is not valid {self.tcp.format} for this type: {error}",
            operator=self.source.name,
            where=self.source.where,
            expected=str(self.source.outputs[0]),
            found=line.decode(errors="replace"),
            hint='on_error="skip" skips such lines',
        )


def _refused(source: Source, tcp: Tcp, error: Exception) -> InputError:
    return InputError(
        f"no connection to {tcp.address}",
        operator=source.name,
        where=source.where,
        expected=f"a server that answers within {tcp.retry_s:g} s",
        found=str(error),
        hint="start the server first; tw.tcp(…, listen=True) waits for a client instead",
    )


def _broken(source: Source, tcp: Tcp, error: OSError) -> InputError:
    return InputError(
        f"the connection to {tcp.address} broke",
        operator=source.name,
        where=source.where,
        expected="a peer that closes the connection after the last line",
        found=str(error),
        hint="start again: the received lines were kept, and a new connection continues",
    )
