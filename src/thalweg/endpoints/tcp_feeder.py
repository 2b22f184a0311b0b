"""The feeder of a TCP source: lines from a server, or from whoever connects."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.endpoints.tcp import Tcp
from thalweg.engine.storage.retry import keep_trying
from thalweg.engine.storage.tuple_lines import LineParser, line_parser
from thalweg.errors import InputError
from thalweg.ir.endpoints import Rows
from thalweg.ir.operators import Source

_POLL_S = 0.1  # how soon a feeder that waits for the network sees that the run is left
_RECEIVE = 1 << 16
MAX_LINE = 1 << 24


def feed_tcp(source: Source, tcp: Tcp, out: Rows, *, follow: bool) -> None:
    """Until the peer closes; with `follow` the next connection goes on."""
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
            out.wait(_POLL_S)  # a server that closes at once must not keep us busy


@contextmanager
def _connections(source: Source, tcp: Tcp, out: Rows) -> Iterator[Iterator[socket.socket]]:
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


def _accept(server: socket.socket, out: Rows) -> Iterator[socket.socket]:
    server.settimeout(_POLL_S)
    while True:
        out.wait(0)
        try:
            yield server.accept()[0]
        except TimeoutError:
            continue


def _connect(source: Source, tcp: Tcp, out: Rows) -> Iterator[socket.socket]:
    """One connection after the other; a server that does not answer is tried again for a while."""

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


def _received(connection: socket.socket, out: Rows) -> Iterator[bytes]:
    """What arrives, until the peer closes."""
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
    """Cuts what arrives over one connection into lines, and makes tuples of them."""

    def __init__(self, source: Source, tcp: Tcp, parse: LineParser) -> None:
        self.source, self.tcp, self.parse = source, tcp, parse
        self.number = 0
        self.begun = b""  # the line that is not whole yet

    def take(self, data: bytes, out: Rows) -> None:
        *whole, self.begun = (self.begun + data).split(b"\n")
        for line in whole:
            self._line(line, out)
        if len(self.begun) > MAX_LINE:
            raise self._bad(self.begun[:80], ValueError(f"the line is longer than {MAX_LINE} bytes"))

    def rest(self, out: Rows) -> None:
        """The peer closed: a last line may go without its end."""
        if self.begun:
            self._line(self.begun, out)

    def _line(self, line: bytes, out: Rows) -> None:
        self.number += 1
        try:
            values = self.parse(line.removesuffix(b"\r").decode())
        except (ValueError, RecursionError) as error:  # json and the decoder raise kinds of them
            if self.tcp.on_error == "skip":
                return
            raise self._bad(line, error) from None
        if values is not None:
            out.add(values)

    def _bad(self, line: bytes, error: Exception) -> InputError:
        return InputError(
            f"line {self.number} from {self.tcp.address} is no {self.tcp.format} of this type: {error}",
            operator=self.source.name,
            where=self.source.where,
            expected=str(self.source.outputs[0]),
            found=line.decode(errors="replace"),
            hint='on_error="skip" leaves such lines out',
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
        expected="a peer that closes the connection when all is said",
        found=str(error),
        hint="start again: what arrived was kept, and a new connection goes on",
    )
