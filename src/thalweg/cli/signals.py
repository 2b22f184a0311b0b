"""Ctrl-C and SIGTERM: the first stops after the current epoch, the second immediately, the third kills the process."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from thalweg.engine.core.stop import Stop

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The signal handler. It does not print, because it may interrupt code that is printing: a thread does."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.signal: int | None = None
        self.received: queue.SimpleQueue[bool] = queue.SimpleQueue()  # the only queue that a signal handler may use

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT)

    def handle(self, number: int, frame: Any) -> None:
        self.signal = number
        if self.stop.requested:
            for other in SIGNALS:
                signal.signal(other, signal.SIG_DFL)
            raise KeyboardInterrupt
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
