"""The request to stop: the run stops after the epoch in progress, and can be resumed."""

from __future__ import annotations

import time

_POLL_S = 0.05


class Stop:
    """Set by the caller of the run, from any thread or signal handler; checked by the engine between epochs."""

    def __init__(self) -> None:
        self.requested = False
        self.epoch: int | None = None  # the epoch in progress, set by the engine

    def request(self) -> None:
        self.requested = True  # no lock: a signal handler may run at any moment

    def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or a stop is requested: `time.sleep` continues after a signal was handled."""
        until = time.monotonic() + seconds
        while not self.requested and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_S))
