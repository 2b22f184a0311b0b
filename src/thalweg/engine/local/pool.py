"""Worker processes: started once, then used for one job after the other.

They are forked from a separate process (`forkserver`), which has loaded Thalweg but no user code, and has no threads.
Forking the driver, with its threads, could leave a lock locked forever; starting a new Python for each worker takes a
second of CPU time each.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from thalweg.engine.local.codec import dumps, loads
from thalweg.engine.local.gather import Gather
from thalweg.engine.local.messages import Answered, Begin, Close, Job, Load, Message, Sent
from thalweg.engine.local.worker_deaths import died
from thalweg.engine.local.worker_process import NOWHERE, STOP_SIGNALS, serve
from thalweg.errors import InternalError

_PATIENCE_S = 5.0  # for processes to end after they were closed
_WAIT_S = 1.0

# Queues whose threads may wait for a reader forever. If such a thread held the last reference to a queue's semaphores,
# it would release them, and the exit of the program could interrupt that: Python then warns about leaked semaphores.
_ABANDONED: list[Any] = []


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes that multiprocessing starts run the user's script again, to find its classes. Workers must not: the
    script may call `tw.run` without checking for `__main__`. Its functions are sent by value instead, as on Spark."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """A signal to all processes stops the run, and the driver alone decides how. Processes that are started in the
    block do not receive it (one that is loading its modules would end), and the driver handles it after the block."""
    received: list[int] = []
    main = threading.current_thread() is threading.main_thread()  # only this thread has handlers
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS if main}
    handlers = {number: handler for number, handler in before.items() if handler is not None}  # None: not set by Python
    for number in handlers:
        signal.signal(number, lambda number, frame: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        resource_tracker.ensure_running()  # its first start unblocks some of them
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in received:
            signal.raise_signal(each)


class Pool:
    """Workers in processes. They are started when first needed, and end with the driver, even if it is killed."""

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
            writer.close()  # so that the pipe ends when the worker dies
            self.processes.append(process)
            self.results.append(reader)

    def load(self, loads: Sequence[Load]) -> None:
        assert len(loads) <= self.size
        with self._killed_on_errors():
            if not self.processes:
                with _signals_deferred():
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
            while not gather.complete:
                for message in self._arrived():
                    if isinstance(message, Answered):
                        raise message.error or InternalError("a worker sent an unexpected answer")
                    assert not isinstance(message, Load | Close | Begin)
                    self._send(gather.receive(message))  # type: ignore[arg-type]

    def _send(self, sent: Sequence[Sent]) -> None:
        for channel, message in sent:
            self.inboxes[channel].put(dumps(message))

    def _await_answers(self, channels: Sequence[int], *, last: bool = False) -> None:
        """Wait for an answer of each channel. `last`: a worker ends after its answer."""
        errors: dict[int, BaseException | None] = {}
        while len(errors) < len(channels):
            for message in self._arrived(gone=frozenset(errors) if last else frozenset()):
                assert isinstance(message, Answered)
                errors[message.sender] = message.error
        for _, error in sorted(errors.items()):
            if error is not None:
                raise error

    def _arrived(self, gone: frozenset[int] = frozenset()) -> Iterator[Message]:
        """Wait for at least one message. EngineError if a worker has died that is not in `gone`."""
        expected = [channel for channel in range(len(self.processes)) if channel not in gone]
        ends = [end for c in expected for end in (self.results[c], self.processes[c].sentinel)]
        # With a timeout: a signal just before the wait does not end it, and Python calls its handler only afterwards.
        while not (ready := connection.wait(ends, _WAIT_S)):
            pass
        for channel in expected:
            results = self.results[channel]
            if results in ready:
                try:
                    data = results.recv_bytes()
                except (EOFError, OSError):
                    raise self._died(channel) from None
                yield loads(data)
        for channel in expected:
            if self.processes[channel].sentinel in ready and not self.results[channel].poll():
                raise self._died(channel)

    def _died(self, channel: int) -> Exception:
        process = self.processes[channel]
        process.join(_PATIENCE_S)
        return died(process.exitcode, self.job, self.places[channel])

    @contextmanager
    def _killed_on_errors(self) -> Iterator[None]:
        """Kill the workers after an error or an interrupt, because their state is unknown then."""
        try:
            yield
        except BaseException:
            self.kill()
            raise

    def close(self) -> None:
        """Let operators release what they created in `setup`, then end the processes."""
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
            inbox.join_thread()  # everything was read, so the thread ends
        self.inboxes = []
        self.kill()

    def kill(self) -> None:
        for inbox in self.inboxes:
            inbox.cancel_join_thread()  # messages that were not sent will not be read
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
