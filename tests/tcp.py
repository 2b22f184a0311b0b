"""Servers on loopback for tests: one that sends, one that receives. Each connection gets the next script."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Sequence
from types import TracebackType

Script = Callable[[socket.socket], object]


class Server:
    """Accepts one connection after the other on a free port; each is handed to the next script, the last one stays."""

    def __init__(self, *scripts: Script, port: int = 0) -> None:
        self._scripts = scripts
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.settimeout(0.05)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.connections = 0

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def _serve(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            with connection:
                connection.settimeout(300)
                script(connection)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        self._thread.join(30)
        self._socket.close()


def say(*lines: str, end: str = "\n") -> Script:
    """Send these lines and close."""
    return lambda connection: connection.sendall("".join(line + end for line in lines).encode())


def say_and_stay(*lines: str) -> Script:
    """Send these lines, and close only when the other side has."""

    def script(connection: socket.socket) -> None:
        connection.sendall("".join(f"{line}\n" for line in lines).encode())
        connection.recv(1)

    return script


def hear(into: list[str]) -> Script:
    """Keep all lines, and close when the other side has said all."""

    def script(connection: socket.socket) -> None:
        with connection.makefile() as lines:
            into.extend(line.rstrip("\n") for line in lines)

    return script


def reset(connection: socket.socket) -> None:
    """Take something, then break the connection."""
    connection.recv(1)
    break_off(connection)


def break_off(connection: socket.socket) -> None:
    """Make its close a reset, which is not a regular end of the stream."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def numbers(first: int, last: int) -> Sequence[str]:
    return [f'{{"i": {i}, "s": "t{i}"}}' for i in range(first, last)]
