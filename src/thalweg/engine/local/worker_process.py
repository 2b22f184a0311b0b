"""The loop of a worker process: passes messages to the worker, and lets it work when there are none."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import MutableSequence, Sequence
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from queue import Empty
from typing import Any

import pyarrow as pa

from thalweg.engine.local.codec import dumps, loads
from thalweg.engine.local.messages import DRIVER, Answered, Close, Load, Sent
from thalweg.engine.local.worker import Worker
from thalweg.ir.pe_id import PeId
from thalweg.runtime.pe_program import Program

Inbox = Any  # a multiprocessing queue of bytes: `multiprocessing.Queue` is a function, not a type
NOWHERE = -1
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # they go to all processes; the driver decides


def serve(
    channel: int,
    inboxes: Sequence[Inbox],
    results: Connection,
    places: MutableSequence[int],
    environment: dict[str, str],
) -> None:
    """Run a worker. `places`, in memory shared with the driver: the PE that each worker is running, in case it dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _continue)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # blocked in the driver at the start
    threading.Thread(target=_die_with_the_driver, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)  # the fork server may have an older environment than the driver
    pa.set_cpu_count(1)  # each worker has one core
    _Shell(channel, inboxes, results, places).run()
    for index, inbox in enumerate(inboxes):
        if index != channel:
            inbox.close()


def _continue(number: int, frame: Any) -> None:
    """Not SIG_IGN, which programs that an operator starts would inherit: they could not be terminated."""


def _die_with_the_driver() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


class _Shell:
    def __init__(
        self, channel: int, inboxes: Sequence[Inbox], results: Connection, places: MutableSequence[int]
    ) -> None:
        self.channel, self.inboxes, self.results, self.places = channel, inboxes, results, places
        self.worker = Worker(channel, self._at_work)
        self.index: dict[PeId, int] = {}  # its number among all PEs of the job

    def _at_work(self, program: Program | None) -> None:
        self.places[self.channel] = NOWHERE if program is None else self.index[program.id]

    def run(self) -> None:
        """Run until the driver sends `Close`. Errors that are not a tuple's failure are sent to the driver, which ends
        the run."""
        going = True
        while going:
            try:
                going = self._step()
            except BaseException as error:  # even a KeyboardInterrupt: a function raised it, Ctrl-C is ignored here
                self._answer(error)

    def _step(self) -> bool:
        data = self._next(wait=not self.worker.can_work)
        if data is None:
            self._send(self.worker.work())
            return True
        message = loads(data)
        if isinstance(message, Load | Close):
            job = message.job if isinstance(message, Load) else None
            state = message.state if isinstance(message, Load) else {}
            self.worker.receive(Load(job, state))
            programs = [program for stage in job.programs for program in stage] if job is not None else []
            self.index = {program.id: index for index, program in enumerate(programs)}
            self._answer(None)
            return isinstance(message, Load)
        assert not isinstance(message, Answered)
        self._send(self.worker.receive(message))  # type: ignore[arg-type]
        return True

    def _next(self, *, wait: bool) -> bytes | None:
        try:
            data: bytes = self.inboxes[self.channel].get(wait)
        except Empty:
            return None
        return data

    def _send(self, sent: Sequence[Sent]) -> None:
        """Messages to other workers are sent by the queue's thread: two workers that wait for each other to read would
        deadlock. The driver always reads."""
        for receiver, message in sent:
            if receiver == DRIVER:
                self.results.send_bytes(dumps(message))
            else:
                self.inboxes[receiver].put(dumps(message))

    def _answer(self, error: BaseException | None) -> None:
        self.results.send_bytes(dumps(Answered(self.channel, error)))
