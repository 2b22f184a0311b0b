"""Immediate loops: operators that run one tuple at a time, so that feedback is processed before the next tuple."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from thalweg.errors import summary
from thalweg.ir.canonical_form import canonical_key
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import Logic, acts_at_end, fresh
from thalweg.ir.operator_model import MANY, Model
from thalweg.ir.operator_resources import close, set_up
from thalweg.ir.operators import Filter, FlatMap, Map, Operator, Process, Split, StreamRef, Union
from thalweg.ir.submissions import Submissions
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode
from thalweg.ir.user_tuples import row_maker, unpack
from thalweg.ir.values import carried


class LoopError(Exception):
    """An operator inside a loop failed: its name and error. (Not every exception can be rebuilt with a new message.)"""


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """The operators of a loop; where tuples enter it and return to it (`back`), and the streams that leave it."""

    operators: tuple[Operator, ...]
    entries: tuple[tuple[str, int], ...]
    back: StreamRef
    back_type: TupleType
    fed: StreamRef
    exits: Mapping[StreamRef, int]

    def consumers(self, stream: StreamRef) -> list[tuple[Operator, int]]:
        return [(o, port) for o in self.operators for port, s in enumerate(o.inputs) if s == stream]

    def by_name(self, name: str) -> Operator:
        return next(o for o in self.operators if o.name == name)


class Loop(LibraryLogic):
    """Passes a tuple through the loop's operators, then each tuple that was fed back, until none is left."""

    config: LoopConfig
    makes_marks = has_late = False
    users_code = None
    time_lengths = ()
    is_empty = False  # its objects are those of all keys

    def __init__(self) -> None:
        self.states: dict[str, dict[bytes, dict[str, Any]]] = {}  # operator, key: the attributes of its object

    @property
    def inner_types(self) -> tuple[TupleType, ...]:
        inner = self.config.operators
        return (self.config.back_type, *(t for o in inner for t in o.outputs), *(t for o in inner for t in o.own_types))

    def settings(self) -> str:
        inner = [o for o in self.config.operators if isinstance(o, Process) and o.by is not None]
        return "; ".join(f"{o.name}: {o.state_fingerprint()}" for o in inner)

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        ports, why = operator.results, "a loop runs until nothing is fed back"
        return Model(why, (MANY,) * ports, (({},) * len(inputs),) * ports, (None,) * len(inputs))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        loop = self.config
        known = {StreamRef(o.name, port): kind for o in loop.operators for port, kind in enumerate(o.outputs)}
        known[loop.back] = loop.back_type
        entries = dict(zip(loop.entries, inputs, strict=True))
        for inner in loop.operators:
            kinds = [entries.get((inner.name, port)) or known[s] for port, s in enumerate(inner.inputs)]
            yield from (replace(code, main=False) for code in inner.code(inner.own_types or tuple(kinds)))

    def setup(self) -> dict[str, Any]:
        inside = [o for o in self.config.operators if isinstance(o, Process)]
        return {o.name: set_up(o.logic, o.name, o.where) for o in inside}

    def close(self, resource: dict[str, Any]) -> None:
        for name, made in resource.items():
            operator = self.config.by_name(name)
            assert isinstance(operator, Process)
            close(operator.logic, made, operator.name, operator.where)

    def process(self, t: Any, port: int) -> None:
        name, inner_port = self.config.entries[port]
        waiting: deque[Any] = deque()
        self._give(self.config.by_name(name), inner_port, t, waiting)
        self._until_nothing_waits(waiting)

    def at_end(self) -> None:
        for operator in self.config.operators:
            if not (isinstance(operator, Process) and acts_at_end(operator.logic)):
                continue
            states = self.states.get(operator.name, {})
            for key in list(states):
                if key not in states:  # what an earlier key fed back has removed it
                    continue
                waiting: deque[Any] = deque()
                self._pass_on(operator, partial(self._at_end, operator, key), waiting)
                self._until_nothing_waits(waiting)

    def _until_nothing_waits(self, waiting: deque[Any]) -> None:
        while waiting:
            self._deliver(self.config.back, _retyped(self.config.back_type, waiting.popleft()), waiting)

    def _deliver(self, stream: StreamRef, row: Any, waiting: deque[Any]) -> None:
        if stream in self.config.exits:
            self.submit(row, self.config.exits[stream])
        if stream == self.config.fed:
            waiting.append(row)
        for operator, port in self.config.consumers(stream):
            self._give(operator, port, row, waiting)

    def _give(self, operator: Operator, port: int, row: Any, waiting: deque[Any]) -> None:
        given = _retyped(operator.own_types[port], row) if operator.own_types else row
        self._pass_on(operator, partial(self._results, operator, port, given), waiting)

    def _pass_on(self, operator: Operator, act: Callable[[], list[tuple[int, Any]]], waiting: deque[Any]) -> None:
        try:
            results = act()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise LoopError(f"{operator.name}: {summary(error)}") from error
        for out_port, result in results:
            self._deliver(StreamRef(operator.name, out_port), result, waiting)

    def _results(self, operator: Operator, port: int, row: Any) -> list[tuple[int, Any]]:
        if not isinstance(operator, Process):
            return _STATELESS[type(operator)](operator, row)
        by = operator.port_key(port) or ()
        return self._called(operator, canonical_key(row, by), lambda logic: logic.process(row, port))

    def _at_end(self, operator: Process, key: bytes) -> list[tuple[int, Any]]:
        return self._called(operator, key, lambda logic: logic.at_end())

    def _called(self, operator: Process, key: bytes, call: Callable[[Logic], None]) -> list[tuple[int, Any]]:
        """The results of a key's object, whose attributes are part of the attributes of this object."""
        logic, states = fresh(operator.logic), self.states.setdefault(operator.name, {})
        logic.__dict__ = states.setdefault(key, logic.__dict__)
        logic.resource = self.resource[operator.name]
        logic._submitted = submitted = Submissions(operator.result_type)
        call(logic)
        if logic._forgotten:
            del states[key]
        return [(p, _row(operator.result_type(p), values)) for p, _, values in submitted]


def _made(tuple_type: TupleType, value: Any) -> Any:
    return _row(tuple_type, unpack(value, tuple_type))


def _row(tuple_type: TupleType, values: tuple[Any, ...]) -> Any:
    return row_maker(tuple_type, tuple_type.names)(*values)


def _retyped(tuple_type: TupleType, row: Any) -> Any:
    """The tuple as one of a stream with the same attributes, so that it has the methods of that stream's class."""
    present = [name for name in tuple_type.names if hasattr(row, name)]
    return row_maker(tuple_type, present)(*(carried(getattr(row, name)) for name in present))


def _split(operator: Split, row: Any) -> list[tuple[int, Any]]:
    chosen, ports = operator.function.callable(row), len(operator.outputs)
    if type(chosen) is not int or not 0 <= chosen < ports:
        raise ValueError(f"expected a port in 0..{ports - 1}, found {chosen!r}")
    return [(chosen, row)]


# The output of a stateless operator for one tuple: output ports and tuples.
_STATELESS: Mapping[type[Operator], Callable[[Any, Any], list[tuple[int, Any]]]] = {
    Map: lambda o, row: [(0, _made(o.outputs[0], o.function.callable(row)))],
    Filter: lambda o, row: [(0, row)] if o.function.callable(row) else [],
    FlatMap: lambda o, row: [(0, _made(o.outputs[0], item)) for item in o.function.callable(row)],
    Split: _split,
    Union: lambda o, row: [(0, _retyped(o.outputs[0], row))],
}
INSIDE = (*_STATELESS, Process)  # the operators that an immediate loop may contain
