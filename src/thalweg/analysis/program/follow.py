"""Follow a user's function or operator class: what it may do, for every tuple that it may get."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args, Frame
from thalweg.analysis.program.machine import ELEMENTS, TooLong
from thalweg.analysis.program.notes import Copied, Found, Notes
from thalweg.analysis.program.statements import Statements
from thalweg.analysis.program.store import ANY_NUMBER, Count, Store, either
from thalweg.analysis.program.tables import is_built_in
from thalweg.analysis.program.values import (
    NONE,
    NOTHING,
    RESOURCE,
    STATE,
    SUBMIT,
    Anything,
    Bound,
    Item,
    Known,
    New,
    Of,
    Part,
    Row,
    Value,
    aged,
    join,
    literal,
)
from thalweg.errors import Where
from thalweg.ir.facts import UNKNOWN_CALL, Reason
from thalweg.ir.logic import Logic
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TRUTH, TUPLE, TUPLES, VALUE

ROUNDS = 12  # until what is held in memory does not change any more


class Follower(Statements):
    """Follows one function or one operator class, until nothing new is found."""

    def __init__(self, where: Where, outputs: Sequence[TupleType]) -> None:
        super().__init__()
        self.where, self.outputs = where, outputs
        self.node = ast.Pass(lineno=where.line, col_offset=0)
        self.entry = Frame(0, "", where.file, {}, None)
        self.gave_up = False
        self.submitted: list[tuple[list[int], Value]] = []  # in this call: to which ports, what

    def rounds(self, once: Callable[[], Any]) -> None:
        """Run until memory does not grow any more."""
        try:
            for _ in range(ROUNDS):
                self.changed, self.notes.lost = False, None
                once()
                if not self.changed:
                    if self.notes.lost is not None:
                        self._give_up(self.notes.lost)
                    return
        except (TooLong, RecursionError):
            pass
        self._give_up(Reason("is too much code to follow", self.where))

    def _give_up(self, reason: Reason) -> None:
        self.gave_up = True
        self.notes.effect(UNKNOWN_CALL, reason)
        self.notes.hidden = self.notes.hidden or reason
        for port in list(self.notes.reads):
            self.notes.read(port, None)
        self.notes.read(0, None)

    def enter(self, callee: Value, args: Sequence[Value]) -> Value:
        """A call from outside, on a path of its own."""
        self.frames, self.active, self.collectors, self.loops = [self.entry], [], [], []
        self.store = Store()
        self.submitted = []
        return self.call(callee, Args(list(args)), self.node)

    def emit(self, args: Args, node: ast.AST) -> Value:
        """`submit(value, port)`."""
        chosen = literal(args.at(1, "port")) if args.at(1, "port") else Known(0)
        ports = range(len(self.outputs))
        known = chosen is not None and type(chosen.value) is int and args.more is None and args.more_named is None
        if not args.at(0, "value"):
            self.lose("submits something that cannot be read", node)
        copied = self.copied_of(args.at(0, "value"))
        self.submitted.append((list[int](), args.at(0, "value")))
        for port in ports:
            if known and chosen is not None and chosen.value != port:
                continue
            self.notes.emit(port, copied)
            self.submitted[-1][0].append(port)
            self.unpacked(args.at(0, "value"), port)
            if self.store is not None:
                self.store.emit(port, (1, 1) if known else (0, 1))
        self.touch()
        return frozenset((Known(None),))

    def settle(self) -> None:
        """A submitted object is taken apart when the call has ended: by then it may be another."""
        if self.store is not None:
            for ports, value in self.submitted:
                for port in ports:
                    self.notes.emit(port, self.copied_of(value))

    def unpacked(self, value: Value, port: int) -> None:
        """An emitted tuple is taken apart: reading attributes of an object may run its code."""
        for item in value:
            own = isinstance(item, New | Part) and not is_built_in(item.type)
            known = isinstance(item, Known) and not (outside.is_fixed(item.value) or outside.is_plain(item.value))
            if own or known:
                for name in self.outputs[port].names:
                    self.get_attribute(frozenset((item,)), name, self.node)


def follow_function(
    function: Callable[..., Any],
    arguments: Sequence[TupleType | Value],
    where: Where,
    *,
    use: str = VALUE,
    output: TupleType | None = None,
    holding: Mapping[Value, Value] | None = None,
) -> Found:
    """A function, by what it returns. Its arguments are a tuple of each input, or other values; `holding`: what lists
    among them hold. `use`: what is done with the result; that may run code of the user's, too."""
    machine = Follower(where, () if output is None else (output,))
    for owner, held in (holding or {}).items():
        for item in owner:
            machine.put(item, ELEMENTS, held)
    given: list[Value] = [
        frozenset((Row(kind, port),)) if isinstance(kind, TupleType) else kind for port, kind in enumerate(arguments)
    ]
    length: Count = ANY_NUMBER
    returned: Copied | None = None
    elements: Copied | None = None
    sure = True

    def once() -> None:
        nonlocal length, returned, elements, sure
        found = machine.enter(frozenset((Known(function),)), given)
        if machine.store is None:
            length = (0, 0)  # it always raises
            return
        sure = sure and not any(isinstance(i, Anything) for i in found)
        returned, elements, length = machine.copied_of(found), machine.copied_of_elements(found), machine.length(found)
        if use == TRUTH:
            machine.truth(found, machine.node)
        elif use == TUPLE:
            machine.unpacked(found, 0)
        elif use == TUPLES:
            each = machine.elements(found, machine.node)
            if not each and length[1] != 0:
                machine.lose("gives tuples that cannot be read", machine.node)
            machine.unpacked(each, 0)

    machine.rounds(once)
    if machine.gave_up:
        length, returned, elements, sure = ANY_NUMBER, {}, {}, False
    return Found(machine.notes, {}, {}, length, returned, elements, sure)


def follow_code(
    function: Callable[..., Any], state: object, kind: TupleType, outputs: Sequence[TupleType], where: Where
) -> Found:
    """A function of a tuple, the key's state and `submit`; what it returns, if anything, is the new state."""
    machine = Follower(where, outputs)
    holder = Known([], STATE)
    counts: dict[int, Count] = {}

    def once() -> None:
        held = join((frozenset((outside.rooted(state, STATE),)), machine.get(holder, "state")))
        row: Value = frozenset((Row(kind, 0),))
        found = machine.enter(frozenset((Known(function),)), [row, held, frozenset((SUBMIT,))])
        changed = frozenset(i for i in found if not (isinstance(i, Known) and i.value is None))
        if changed and not changed <= held:
            reason = Reason("returns the new state", where)
            machine.notes.writes_state = machine.notes.writes_state or reason
        machine.put(holder, "state", changed)
        _count(machine, counts)

    machine.rounds(once)
    copied = {p: {0: c} for p, c in machine.notes.emitted.items()}
    return Found(machine.notes, counts, copied, sure=machine.notes.hidden is None)


def follow_logic(logic: Logic, inputs: Sequence[TupleType], outputs: Sequence[TupleType], where: Where) -> Found:
    """An operator class, by the object that is every key's first state. Marks and the end are followed for what they
    do to the state; only what tuples make it emit is counted."""
    machine = Follower(where, outputs)
    itself = Known(logic, STATE)
    counts: dict[int, Count] = {}
    copied: dict[int, dict[int, Copied]] = {}

    def method(name: str) -> Value:
        return frozenset((Bound(getattr(type(logic), name), itself),))

    def once() -> None:
        counts.clear()
        copied.clear()
        if type(logic).setup is not Logic.setup:
            notes, machine.notes = machine.notes, Notes()
            machine.resource = _shared(machine, machine.enter(method("setup"), []))
            machine.notes = notes.with_setup(machine.notes)
        for port, kind in enumerate(inputs):
            machine.notes.emitted = {}
            machine.enter(method("process"), [frozenset((Row(kind, port),)), frozenset((Known(port),))])
            _count(machine, counts)
            for out, origin in machine.notes.emitted.items():
                copied.setdefault(out, {})[port] = origin
        for name in ("on_mark", "at_end"):
            if getattr(type(logic), name) is not getattr(Logic, name):
                machine.enter(method(name), [frozenset((Of(int),))] if name == "on_mark" else [])
                machine.notes.writes_state = machine.notes.writes_state or Reason(f"has {name}", where)

    machine.rounds(once)
    return Found(machine.notes, counts, copied, sure=machine.notes.hidden is None)


def _shared(machine: Follower, made: Value) -> Value:
    """What `setup` made: all keys of a worker share it."""
    found: list[Item] = []
    for item in aged(made, RESOURCE):
        if isinstance(item, Known) and not outside.is_fixed(item.value):
            item = Known(item.value, RESOURCE)
        found.append(item)
    return join((frozenset(found), machine.resource if machine.resource != NONE else NOTHING))


def _count(machine: Follower, counts: dict[int, Count]) -> None:
    machine.settle()
    if machine.store is None:
        return
    for port in range(len(machine.outputs)):
        one = machine.store.counts.get(port, (0, 0))
        counts[port] = one if port not in counts else either(counts[port], one)
