"""Ctrl-C, SIGTERM and SIGHUP: the first stops after the current epoch, the second immediately, the third kills the
process."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from thalweg.engine.core.stop import Stop

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_S = 0.5  # `timeout` signals the process and then its group: a signal that comes twice at once is one


class Interrupts:
    """The signal handler. It does not print, because it may interrupt code that is printing: a thread does."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.signal: int | None = None
        self.first_s = 0.0  # when the first signal came
        self.received: queue.SimpleQueue[bool] = queue.SimpleQueue()  # the only queue that a signal handler may use

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT)

    def ending(self, *, resumable: bool, because: str | None = None) -> str:
        """How the run ended."""
        number = signal.Signals(self.signal or signal.SIGINT)
        by = "Ctrl-C" if number == signal.SIGINT else number.name
        why = f" ({because})" if because is not None else ""
        return f"paused by {by}{why}; run the same command to resume" if resumable else f"stopped by {by}{why}"

    def handle(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if number == self.signal != signal.SIGINT and now < self.first_s + _ONE_S:
            return
        self.signal = number
        if self.stop.requested:
            for other in SIGNALS:
                signal.signal(other, signal.SIG_DFL)
            raise KeyboardInterrupt
        self.first_s = now
        self.stop.request()
        self.received.put(True)

    def announce(self, report: Callable[[int | None], None]) -> None:
        if self.received.get():
            report(self.stop.epoch)


@contextmanager
def stopping(stop: Stop, report: Callable[[int | None], None]) -> Iterator[Interrupts]:
    """Handle signals while the block runs; `report` is called, in a thread, with the epoch after which the run stops.

    A signal that is already ignored (a shell's background job ignores Ctrl-C) stays ignored.
    """
    interrupts = Interrupts(stop)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    announcer = threading.Thread(target=interrupts.announce, args=(report,), daemon=True)
    announcer.start()
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupts.handle)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        interrupts.received.put(False)
        announcer.join()
