"""Immediate loops in the reference: a tuple, and all that follows from it, before the next one enters the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.errors import summary
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Operator, Process, StreamRef, Union
from thalweg.ir.submissions import Submissions
from thalweg.ir.types import TupleType
from thalweg.verify.reference_keys import key_of
from thalweg.verify.reference_per_tuple import PER_TUPLE, as_type, make_row


class LoopError(Exception):
    """An operator inside a loop failed. The error's text has the name of its class, so it is that of the engines."""


class Loop(Logic):
    """Operators that pass tuples depth first, in declaration order. A tuple that is fed back waits until everything
    that follows from the tuples before it is done. `new` makes the object of a key of an operator.

    `entries`: the operator and port of each input port; `back`: the stream, of the type `looped`, that continues
    the `fed` one; `exits`: the output port of each stream that leaves the loop. A tuple leaves before it is passed on
    inside the loop.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        entries: Sequence[tuple[str, int]],
        back: StreamRef,
        looped: TupleType,
        fed: StreamRef,
        exits: Mapping[StreamRef, int],
        new: Callable[[Process], Logic],
    ) -> None:
        self.operators = {operator.name: operator for operator in operators}
        self.entries, self.back, self.looped, self.fed, self.exits, self.new = entries, back, looped, fed, exits, new
        self.objects: dict[str, dict[tuple[Any, ...], Logic]] = {name: {} for name in self.operators}
        self.waiting: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        name, inner_port = self.entries[port]
        self._give(self.operators[name], inner_port, t)
        self._feed_back()

    def at_end(self) -> None:
        """Operators in declaration order, their keys in the order of their first tuples."""
        for name, operator in self.operators.items():
            objects = self.objects[name]
            for key in list(objects):
                assert isinstance(operator, Process)
                if key in objects:  # what an earlier key fed back may have removed it
                    self._act(operator, key, lambda logic: logic.at_end())
                    self._feed_back()

    def _feed_back(self) -> None:
        while self.waiting:
            self._deliver(self.back, as_type(self.looped, self.waiting.pop(0), self.looped.names))

    def _deliver(self, stream: StreamRef, row: Any) -> None:
        if stream in self.exits:
            self.submit(row, self.exits[stream])
        if stream == self.fed:
            self.waiting.append(row)
        for operator in self.operators.values():
            for port, source in enumerate(operator.inputs):
                if source == stream:
                    self._give(operator, port, row)

    def _give(self, operator: Operator, port: int, row: Any) -> None:
        if isinstance(operator, Process):
            objects, key = self.objects[operator.name], key_of(row, operator.port_key(port) or ())
            if key not in objects:
                objects[key] = self.new(operator)
            self._act(operator, key, lambda logic: logic.process(row, port))
        elif isinstance(operator, Union):
            self._deliver(operator.output, as_type(operator.outputs[0], row, operator.outputs[0].names))
        else:
            self._send(operator, lambda: [(p, made) for p, made, _ in PER_TUPLE[type(operator)](operator, row, ())])

    def _act(self, operator: Process, key: tuple[Any, ...], act: Callable[[Logic], None]) -> None:
        def results() -> list[tuple[int, Any]]:
            submitted = Submissions(operator.result_type)
            logic = self.objects[operator.name][key]
            logic._submitted = submitted
            act(logic)
            if logic._forgotten:
                del self.objects[operator.name][key]
            return [(p, make_row(operator, v, p)) for p, _, v in submitted]

        self._send(operator, results)

    def _send(self, operator: Operator, results: Callable[[], list[tuple[int, Any]]]) -> None:
        try:
            found = results()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise LoopError(f"{operator.name}: {summary(error)}") from error
        for port, row in found:
            self._deliver(StreamRef(operator.name, port), row)
