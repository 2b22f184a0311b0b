"""Workers of the parallel engine without processes: messages arrive in any order that real channels allow.

Between two workers messages keep their order; everything else is random: whose message comes next, whether a worker
works or receives, whether one is much slower than the others.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

import numpy as np

from thalweg.engine.local.codec import dumps, loads
from thalweg.engine.local.gather import Gather
from thalweg.engine.local.messages import DRIVER, Begin, Delivery, Done, Go, Load, Sent
from thalweg.engine.local.worker import Worker
from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Unordered

Link = tuple[int, int]  # from whom to whom


class Interleaved:
    """Drives workers in one process, seeded."""

    def __init__(self, seed: int, *, through_bytes: bool = False) -> None:
        self.chance = random.Random(seed)
        self.through_bytes = through_bytes
        self.workers: list[Worker] = []
        self.links: dict[Link, deque[object]] = {}
        self.most_waiting = 0  # tuples on their way between workers, at any time

    def load(self, loads: Sequence[Load]) -> None:
        self.workers = [Worker(channel) for channel in range(len(loads))]
        for worker, message in zip(self.workers, loads, strict=True):
            assert worker.receive(message) == []

    def unload(self) -> None:
        for worker in self.workers:
            worker.receive(Load(None, {}))

    def close(self) -> None:
        self.unload()

    def run(self, begins: Sequence[Begin], gather: Gather) -> None:
        # Some are much slower than others.
        pace = [self.chance.choice((1.0, 1.0, 0.3, 0.02)) for _ in self.workers]
        self._send(DRIVER, list(enumerate(begins)))
        while not gather.complete:
            links = [link for link, waiting in self.links.items() if waiting]
            workers = [worker for worker in self.workers if worker.can_work]
            assert links or workers, "everybody waits for somebody"
            actors: list[Link | Worker] = [*links, *workers]
            actor = self.chance.choices(actors, [self._pace(pace, a) for a in actors])[0]
            if isinstance(actor, Worker):
                self._send(actor.channel, actor.work())
            else:
                self._deliver(actor, gather)
            held = sum(stage.merger.held for w in self.workers if w.run is not None for stage in w.run.stages)
            self.most_waiting = max(self.most_waiting, held + self._on_the_way())
        # Only leave to go on may come late: into the next epoch, which must not take it for its own.
        assert all(isinstance(message, Go) for waiting in self.links.values() for message in waiting)
        _check_order(gather)

    def _pace(self, pace: list[float], actor: Link | Worker) -> float:
        channel = actor.channel if isinstance(actor, Worker) else actor[1]
        return 1.0 if channel == DRIVER else pace[channel]

    def _send(self, sender: int, sent: Sequence[Sent]) -> None:
        for receiver, message in sent:
            again = loads(dumps(message)) if self.through_bytes else message
            self.links.setdefault((sender, receiver), deque()).append(again)

    def _deliver(self, link: Link, gather: Gather) -> None:
        receiver = link[1]
        message = self.links[link].popleft()
        if receiver == DRIVER:
            assert isinstance(message, Delivery | Done)
            self._send(DRIVER, gather.receive(message))
        else:
            self._send(receiver, self.workers[receiver].receive(message))  # type: ignore[arg-type]

    def _on_the_way(self) -> int:
        parts = [
            m for (_, to), waiting in self.links.items() if to != DRIVER for m in waiting if isinstance(m, Delivery)
        ]
        return sum(len(frame) for part in parts for frame in part.frames.values())


def _check_order(gather: Gather) -> None:
    """The mergers alone determine the order: nothing after them sorts."""
    for wire, items in gather.out.items():
        if isinstance(gather.mergers[wire], Unordered):
            continue
        positions = [item.position for item in items if isinstance(item, Frame)]
        if positions:
            assert (np.diff(np.concatenate(positions)) >= 0).all()
