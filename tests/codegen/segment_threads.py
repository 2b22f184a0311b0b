"""A PE whose segments run in threads of their own, as threaded ports would run them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from queue import Queue
from typing import Any

from thalweg.runtime.frame import Frame
from thalweg.runtime.generated_code import Segment
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Output
from thalweg.runtime.state import State
from thalweg.runtime.turn import Turn

Passed = Queue[tuple[Turn, tuple[Any, ...]] | None]  # a turn with its streams; None: no more


class ThreadedPE(PE):
    """A thread per segment, with a queue of one turn between two of them: several turns are on their way."""

    most_threads = 0

    def run_merged(self, merged: Mapping[int, Frame], state: State, end: int | None = None) -> list[Output]:
        queues: list[Passed] = [Queue(1) for _ in range(len(self.segments) + 1)]
        errors: list[BaseException] = []
        threads = [
            threading.Thread(target=self._serve, args=(segment, *queues[index : index + 2], errors))
            for index, segment in enumerate(self.segments)
        ]
        feeder = threading.Thread(target=self._feed, args=(merged, state, end, queues[0]))
        for thread in (*threads, feeder):
            thread.start()
        ThreadedPE.most_threads = max(ThreadedPE.most_threads, len(threads))
        outputs = [item[0].output for item in iter(queues[-1].get, None)]
        for thread in (*threads, feeder):
            thread.join()
        if errors:
            raise errors[0]
        return outputs

    def _feed(self, merged: Mapping[int, Frame], state: State, end: int | None, into: Passed) -> None:
        for turn in self.turns(merged, state, end):
            into.put((turn, ()))
        into.put(None)

    def _serve(self, segment: Segment, source: Passed, into: Passed, errors: list[BaseException]) -> None:
        for turn, streams in iter(source.get, None):
            try:
                into.put((turn, segment(self, turn, *streams)))
            except BaseException as error:  # raised again where the epoch is run
                errors.append(error)
        into.put(None)
