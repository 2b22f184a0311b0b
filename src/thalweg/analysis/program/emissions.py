"""Emitted tuples, and which of their attributes are copies of attributes of the input tuple."""

from __future__ import annotations

import ast

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import Given, InputTuple, Known, New, Part, Value, just, literal, only
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.python_types import ITERATOR, is_built_in


def copied_of(m: Machine, value: Value) -> Copied | None:
    """The attributes that are copies of attributes of the input tuple, in every tuple that a value may be."""
    found: Copied | None = None
    for item in value:
        if isinstance(item, Known) and item.value is None:
            continue  # not a tuple: it is rejected
        one: Copied = {}
        fields = m.store.fields(item) if m.store is not None else None
        if isinstance(item, InputTuple) and item.port >= 0:
            one = {name: (item.port, name) for name in item.type.names}
        elif fields is not None:
            # This includes fields that a dict may lack: without them the tuple would be rejected.
            one = {str(name): origin for name, v in fields.items() if (origin := _origin(v)) is not None}
        if isinstance(item, New) and item.type not in (list, tuple, ITERATOR):  # a nested tuple
            m.read_whole(just(item))
        found = both(found, one)
    return found


def copied_of_elements(m: Machine, value: Value) -> Copied | None:
    """The same for the elements of a value. Only the contents of containers created in this call are known."""
    found: Copied | None = None
    for item in value:
        if isinstance(item, Known) and item.value is None:
            continue  # no tuples: it is rejected
        one: Copied | None = {}
        if isinstance(item, New) and item in m.memory.yielded:
            one = m.memory.yielded[item]
        elif isinstance(item, New) and item.type in (list, tuple, ITERATOR):
            one = copied_of(m, m.memory.contents(item))
        found = both(found, one)
    return found


def _origin(value: Value) -> tuple[int, str] | None:
    item = only(value)
    return (item.port, item.name) if isinstance(item, Given) and item.name and item.port >= 0 else None


def emit(m: Machine, args: Args, node: ast.AST) -> Value:
    """`submit(value, port)`."""
    chosen = literal(args.at(1, "port")) if args.at(1, "port") else Known(0)
    known = chosen is not None and type(chosen.value) is int and args.more is None and args.more_named is None
    value = args.at(0, "value")
    if not value:
        m.lose("submits a value that cannot be analyzed", node)
    copied = copied_of(m, value)
    ports: list[int] = []
    m.submitted.append((ports, value))
    for port in range(len(m.outputs)):
        if known and chosen is not None and chosen.value != port:
            continue
        m.notes.emit(port, copied)
        ports.append(port)
        unpack(m, value, port)
        if m.store is not None:
            m.store.emit(port, (1, 1) if known else (0, 1))
    m.touch()
    return just(Known(None))


def settle(m: Machine) -> None:
    """Unpack submitted objects at the end of the call: they may have changed since they were submitted."""
    if m.store is not None:
        for ports, value in m.submitted:
            for port in ports:
                m.notes.emit(port, copied_of(m, value))


def unpack(m: Machine, value: Value, port: int) -> None:
    """Unpack an emitted tuple: reading the attributes of an object may run its code."""
    for item in value:
        own = isinstance(item, New | Part) and not is_built_in(item.type)
        known = isinstance(item, Known) and not (live_objects.is_fixed(item.value) or live_objects.is_plain(item.value))
        if own or known:
            for name in m.outputs[port].names:
                m.attribute(just(item), name, m.entry)
