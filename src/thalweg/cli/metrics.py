"""Metrics of a run: a file of JSON lines, and an endpoint for Prometheus. Both are updated from the epoch reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from thalweg.engine.core.run import Watch
from thalweg.engine.storage.report import EpochReport
from thalweg.errors import EngineError, UsageError
from thalweg.extras import extra


@contextmanager
def metrics(app: str, file: Path | None, address: str | None) -> Iterator[tuple[tuple[Watch, ...], str | None]]:
    """The functions that receive the epoch reports, and the URL of the Prometheus endpoint, if it was requested."""
    with ExitStack() as stack:
        watches: list[Watch] = []
        url: str | None = None
        if file is not None:
            watches.append(JsonLines(app, stack.enter_context(_opened(file))).watch)
        if address is not None:
            with extra("prometheus", "--prometheus"):  # here: the library takes a while to load
                from thalweg.cli.prometheus import Exporter, serving

            exporter = Exporter(app)
            url = stack.enter_context(serving(exporter, parse_address(address)))
            watches.append(exporter.watch)
        yield tuple(watches), url


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """The file, opened for appending: a resumed run continues its file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = file.open("a")
    except OSError as error:
        raise EngineError("the metrics file cannot be written", found=f"{file}: {error.strerror}") from None
    with opened:
        yield opened


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One line per epoch: its report, with the time of its completion and the application's name."""

    app: str
    out: IO[str]

    def watch(self, report: EpochReport) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.out.write(json.dumps({"time": now, "app": self.app, **report.as_event()}) + "\n")
        self.out.flush()


def parse_address(text: str) -> tuple[str, int]:
    """`PORT` or `HOST:PORT`; without a host, only this machine can connect."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise UsageError(
            "--prometheus: invalid address",
            expected="PORT or HOST:PORT, the port in 0..65535",
            found=text,
            hint="9100, or 0.0.0.0:9100",
        )
    return host.strip("[]") or "127.0.0.1", int(port)
