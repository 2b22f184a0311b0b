"""The wish to stop: a run that is asked to stops after the epoch in progress, and can be started again."""

from __future__ import annotations


class Stop:
    """Asked for by whoever owns the run, from any thread or signal handler; looked at by the engine between epochs."""

    def __init__(self) -> None:
        self.requested = False

    def request(self) -> None:
        self.requested = True  # no lock: a signal handler may come at any moment
