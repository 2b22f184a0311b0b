"""Runs in processes of their own, which are killed with all they started, and nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.waiting import PATIENCE_S

# A JVM that lives for seconds, or runs hundreds of tiny queries, is better off without its optimizing compiler.
FAST_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ENVIRONMENT = {**os.environ, "JAVA_TOOL_OPTIONS": FAST_JAVA}


class Run:
    """A command that leads a session: driver, JVM and Python workers are all members of it."""

    def __init__(
        self, command: Sequence[str], said: Path, *, env: Mapping[str, str] = ENVIRONMENT, cwd: Path | None = None
    ) -> None:
        self.said = said
        with said.open("ab") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
                cwd=cwd,
                start_new_session=True,
                # A shell's background job ignores Ctrl-C, and its children inherit that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_until(self, condition: Callable[[], bool]) -> bool:
        """Until the condition holds; False if the process ended before."""
        deadline = time.monotonic() + PATIENCE_S
        while self.alive and not condition():
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"waited in vain; the run said\n{self.said.read_text()}")
            time.sleep(0.02)
        return self.alive

    def wait(self) -> int:
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """SIGKILL to the driver's process group, then to the workers, which have a group of their own."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        while members := session_members(self.process.pid):
            for member in members:
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.01)
        self.process.wait()


def session_members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append(int(entry.name))
    return found


def starved(said: Path) -> bool:
    """Spark gives a Python worker ten seconds to start, whatever else the machine does."""
    return "a Python worker did not start within the ten seconds" in said.read_text()[-1500:]


def moment(checkpoint: Path, chance: random.Random) -> Callable[[], bool]:
    """One in six while Spark starts, else a random time after the first to third epoch that the run cuts."""
    if chance.randrange(6) == 0:
        then = time.monotonic() + chance.uniform(0.5, 8.0)
        return lambda: time.monotonic() > then
    epochs, delay = _cut(checkpoint) + chance.randint(1, 3), chance.uniform(0.0, 0.8)
    reached: list[float] = []

    def moment() -> bool:
        if not reached and _cut(checkpoint) >= epochs:
            reached.append(time.monotonic())
        return bool(reached) and time.monotonic() > reached[0] + delay

    return moment


def _cut(checkpoint: Path) -> int:
    """How many epochs are in the input log."""
    folder = checkpoint / "log"
    return len(list(folder.glob("*.json"))) if folder.exists() else 0
