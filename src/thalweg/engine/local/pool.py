"""Worker processes: started once, given one job after the other.

They are forked by a process of their own (`forkserver`), which has loaded Thalweg, nothing of the user's, and has no
threads. Forking the driver, with its threads, could leave a lock locked for ever; starting Python anew for each worker
takes a second of each core.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, forkserver
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from thalweg.engine.local.codec import dumps, loads
from thalweg.engine.local.gather import Gather
from thalweg.engine.local.messages import Answered, Begin, Close, Job, Load, Message, Sent
from thalweg.engine.local.worker_deaths import died
from thalweg.engine.local.worker_process import NOWHERE, serve
from thalweg.errors import InternalError

_PATIENCE_S = 5.0  # for processes that were told to end
_DEAF_S = 1.0

# Queues whose threads may wait for a reader for ever. If such a thread were the last to hold a queue's semaphores, it
# would give them back, and the end of the program could stop it half-way: Python then warns of semaphores that leaked.
_ABANDONED: list[Any] = []


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes that multiprocessing starts run the user's script again, to find its classes. Ours must not: a script
    may call `tw.run` without asking whether it is the main one. What is needed of it travels by value, as on Spark."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """A Ctrl-C goes to all processes; one that is loading its modules would end with a traceback. Who is started here
    never sees it, and whoever starts them hears of it when all have started."""
    heard: list[int] = []
    main = threading.current_thread() is threading.main_thread()  # no other may have handlers, or be interrupted
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if main}
    handlers = {number: handler for number, handler in before.items() if handler is not None}  # None: not Python's
    for number in handlers:
        signal.signal(number, lambda number, frame: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in heard:
            signal.raise_signal(each)


class Pool:
    """Workers in processes. They start when they are first needed, and end with the driver, however it ends."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.job: Job | None = None
        self.processes: list[Any] = []
        self.inboxes: list[Any] = []
        self.results: list[Connection] = []
        self.places: Any = None

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["thalweg.engine.local.worker_process", "thalweg.engine.inputs.readers"])
        forkserver.ensure_running()
        self.inboxes = [context.Queue() for _ in range(self.size)]
        self.places = context.RawArray("i", [NOWHERE] * self.size)
        environment = dict(os.environ)
        for channel in range(self.size):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=serve,
                args=(channel, self.inboxes, writer, self.places, environment),
                name=f"thalweg worker {channel}",
                daemon=True,
            )
            with _without_main():
                process.start()
            writer.close()  # so that a worker's death is the end of its pipe
            self.processes.append(process)
            self.results.append(reader)

    def load(self, loads: Sequence[Load]) -> None:
        assert len(loads) <= self.size
        with self._killed_on_errors():
            if not self.processes:
                with _interrupts_wait():
                    self._start()
            self.job = loads[0].job
            for channel, message in enumerate(loads):
                self._send([(channel, message)])
            self._await_answers(range(len(loads)))

    def unload(self) -> None:
        if self.processes:
            self.load([Load(None, {})] * self.size)

    def run(self, begins: Sequence[Begin], gather: Gather) -> None:
        with self._killed_on_errors():
            self._send(list(enumerate(begins)))
            while not gather.whole:
                for message in self._arrived():
                    if isinstance(message, Answered):
                        raise message.error or InternalError("a worker answered a question that was not asked")
                    assert not isinstance(message, Load | Close | Begin)
                    self._send(gather.receive(message))  # type: ignore[arg-type]

    def _send(self, sent: Sequence[Sent]) -> None:
        for channel, message in sent:
            self.inboxes[channel].put(dumps(message))

    def _await_answers(self, channels: Sequence[int], *, last: bool = False) -> None:
        """`last`: whoever has answered ends."""
        errors: dict[int, Exception | None] = {}
        while len(errors) < len(channels):
            for message in self._arrived(gone=frozenset(errors) if last else frozenset()):
                assert isinstance(message, Answered)
                errors[message.sender] = message.error
        for _, error in sorted(errors.items()):
            if error is not None:
                raise error

    def _arrived(self, gone: frozenset[int] = frozenset()) -> Iterator[Message]:
        """At least one message; EngineError when a worker has died that is not among those who may be gone."""
        heard = [channel for channel in range(len(self.processes)) if channel not in gone]
        ends = [end for c in heard for end in (self.results[c], self.processes[c].sentinel)]
        # A signal that comes just before a wait does not end it, and Python calls its handler only behind it.
        while not (ready := connection.wait(ends, _DEAF_S)):
            pass
        for channel in heard:
            results = self.results[channel]
            if results in ready:
                try:
                    data = results.recv_bytes()
                except (EOFError, OSError):
                    raise self._died(channel) from None
                yield loads(data)
        for channel in heard:
            if self.processes[channel].sentinel in ready and not self.results[channel].poll():
                raise self._died(channel)

    def _died(self, channel: int) -> Exception:
        process = self.processes[channel]
        process.join(_PATIENCE_S)
        return died(process.exitcode, self.job, self.places[channel])

    @contextmanager
    def _killed_on_errors(self) -> Iterator[None]:
        """Whoever is interrupted does not know what the workers are at."""
        try:
            yield
        except BaseException:
            self.kill()
            raise

    def close(self) -> None:
        """Let operators give back what they made in `setup`, then end the processes."""
        if not self.processes:
            return
        with self._killed_on_errors():
            for channel in range(self.size):
                self._send([(channel, Close())])
            self._await_answers(range(self.size), last=True)
        for process in self.processes:
            process.join(_PATIENCE_S)
        for inbox in self.inboxes:
            inbox.close()
            inbox.join_thread()  # all was read, so it ends
        self.inboxes = []
        self.kill()

    def kill(self) -> None:
        for inbox in self.inboxes:
            inbox.cancel_join_thread()  # what was not sent will not be read
            inbox.close()
        _ABANDONED.extend(self.inboxes)
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
            process.close()
        for results in self.results:
            results.close()
        self.processes, self.inboxes, self.results, self.job = [], [], [], None
