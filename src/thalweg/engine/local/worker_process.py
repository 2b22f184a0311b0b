"""What a worker's process does: hand messages to the worker, let it work when there are none."""

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
from thalweg.runtime.program import Program

Inbox = Any  # multiprocessing's Queue of bytes: its class is no type
NOWHERE = -1


def serve(
    channel: int,
    inboxes: Sequence[Inbox],
    results: Connection,
    places: MutableSequence[int],
    environment: dict[str, str],
) -> None:
    """`places`: shared with the driver, where each worker says in which PE it is, for the case that it dies there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C goes to all processes; the driver decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # it was started with a mask, which it would hand on
    threading.Thread(target=_die_with_the_driver, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)  # the process that started this one may be older than the driver's
    pa.set_cpu_count(1)  # the others have cores to use, too
    _Shell(channel, inboxes, results, places).run()
    for index, inbox in enumerate(inboxes):
        if index != channel:
            inbox.close()


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
        """Until the driver closes it. What fails here is no tuple's: it is said, and the driver ends the run."""
        going = True
        while going:
            try:
                going = self._step()
            except Exception as error:
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
        """To other workers by a thread of the queue's: a process that waited for its receiver to read would not read
        itself. The driver always reads."""
        for receiver, message in sent:
            if receiver == DRIVER:
                self.results.send_bytes(dumps(message))
            else:
                self.inboxes[receiver].put(dumps(message))

    def _answer(self, error: Exception | None) -> None:
        self.results.send_bytes(dumps(Answered(self.channel, error)))
