"""The wish to stop: a run that is asked to stops after the epoch in progress, and can be started again."""

from __future__ import annotations

import time

_POLL_S = 0.05


class Stop:
    """Asked for by whoever owns the run, from any thread or signal handler; looked at by the engine between epochs."""

    def __init__(self) -> None:
        self.requested = False
        self.epoch: int | None = None  # the epoch in progress, as the engine knows it

    def request(self) -> None:
        self.requested = True  # no lock: a signal handler may come at any moment

    def sleep(self, seconds: float) -> None:
        """Sleep, but not into a stop: Python goes on sleeping behind a signal whose handler returns."""
        until = time.monotonic() + seconds
        while not self.requested and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_S))
