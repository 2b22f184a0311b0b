"""Retries, for endpoints that may be unavailable for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from thalweg.errors import OutputError, ThalwegError, warn
from thalweg.ir.operators import Sink

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


def keep_trying(
    attempt: Callable[[], T],
    *,
    seconds: float,
    is_temporary: Callable[[Exception], bool],
    give_up: Callable[[Exception], ThalwegError],
    waiting: str | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> T:
    """The attempt's result. Temporary errors are retried for `seconds`, with pauses that double; then the error that
    `give_up` returns is raised. The first retry warns with the text `waiting` and the reason."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE_S
    while True:
        try:
            return attempt()
        except Exception as error:
            if not is_temporary(error):
                raise
            if time.monotonic() + pause > deadline:
                raise give_up(error) from None
            failure = reason(error)
        if waiting is not None:
            warn(f"{waiting}: {failure}; trying again for {seconds:g} s")
            waiting = None
        wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


def reason(error: Exception) -> str:
    """The message of a server's or a socket's error, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def deliver(
    attempt: Callable[[], T],
    *,
    sink: Sink,
    epoch: int,
    to: str,
    retry_s: float,
    expected: str,
    is_temporary: Callable[[Exception], bool],
) -> T:
    """Deliver an epoch to a receiver that may be unavailable for a while. If it stays unavailable, an OutputError: the
    epoch is then not committed, and the next start delivers it."""

    def undelivered(error: Exception) -> OutputError:
        return OutputError(
            f"epoch {epoch} cannot be delivered to {to}",
            operator=sink.name,
            where=sink.where,
            expected=expected,
            found=reason(error),
            hint="no data is lost: run the same command to resume; it sends this epoch again",
        )

    return keep_trying(
        attempt,
        seconds=retry_s,
        is_temporary=is_temporary,
        give_up=undelivered,
        waiting=f"{sink.name} waits for {to}",
    )
