"""Follow a user function or operator class to find what it may do, for every possible tuple."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.analysis.program import items, live_objects, syntax  # noqa: F401  they register handlers
from thalweg.analysis.program.abstract_values import (
    NONE,
    NOTHING,
    RESOURCE,
    STATE,
    SUBMIT,
    Anything,
    Bound,
    InputTuple,
    Item,
    Known,
    Value,
    ValueOf,
    aged,
    join,
    just,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import length
from thalweg.analysis.program.emissions import copied_of, copied_of_elements, settle, unpack
from thalweg.analysis.program.limits import TooLong
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.notes import Copied, FollowResult, Notes
from thalweg.analysis.program.store import ANY_NUMBER, Count, either
from thalweg.analysis.program.truth import truth
from thalweg.errors import Where
from thalweg.ir.facts import UNKNOWN_CALL, Reason
from thalweg.ir.logic import Logic
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TRUTH, TUPLE, TUPLES, VALUE


def follow_function(
    function: Callable[..., Any],
    arguments: Sequence[TupleType | Value],
    where: Where,
    *,
    use: str = VALUE,
    output: TupleType | None = None,
    holding: Mapping[Value, Value] | None = None,
) -> FollowResult:
    """Follow a function and analyze its result. Its arguments are a tuple of each input, or other values; `holding`:
    the elements of lists among them. `use`: how the result is used; that may run user code, too."""
    m = Machine(where, () if output is None else (output,))
    for owner, held in (holding or {}).items():
        for item in owner:
            m.put(item, ELEMENTS, held)
    given: list[Value] = [
        just(InputTuple(kind, port)) if isinstance(kind, TupleType) else kind for port, kind in enumerate(arguments)
    ]
    count: Count = ANY_NUMBER
    returned: Copied | None = None
    elements: Copied | None = None
    sure = True

    def once() -> None:
        nonlocal count, returned, elements, sure
        found = _enter(m, where, just(Known(function)), given)
        if m.store is None:
            count = (0, 0)  # it always raises
            return
        sure = sure and not any(isinstance(i, Anything) for i in found)
        returned, elements, count = copied_of(m, found), copied_of_elements(m, found), length(m, found)
        if use == TRUTH:
            truth(m, found, m.entry)
        elif use == TUPLE:
            unpack(m, found, 0)
        elif use == TUPLES:
            each = m.elements(found, m.entry)
            if not each and count[1] != 0:
                m.lose("returns tuples that cannot be analyzed", m.entry)
            unpack(m, each, 0)

    if not _settles(m, where, once):
        count, returned, elements, sure = ANY_NUMBER, {}, {}, False
    return FollowResult(m.notes, {}, {}, count, returned, elements, sure)


def follow_code(
    function: Callable[..., Any], state: object, kind: TupleType, outputs: Sequence[TupleType], where: Where
) -> FollowResult:
    """Follow a function of a tuple, the key's state and `submit`. Its result is the new state; after None it is the
    initial one, or the same."""
    m = Machine(where, outputs)
    holder = Known([], STATE)
    counts: dict[int, Count] = {}

    def once() -> None:
        held = join((just(live_objects.rooted(state, STATE)), m.memory.get(holder, "state")))
        found = _enter(m, where, just(Known(function)), [just(InputTuple(kind, 0)), held, just(SUBMIT)])
        changed = frozenset(i for i in found if not (isinstance(i, Known) and i.value is None))
        if changed and not changed <= held:
            m.notes.writes_state = m.notes.writes_state or Reason("returns the new state", where)
        m.put(holder, "state", changed)
        _count(m, counts)

    _settles(m, where, once)
    copied = {p: {0: c} for p, c in m.notes.emitted.items()}
    return FollowResult(m.notes, counts, copied, sure=m.notes.hidden is None)


def follow_logic(logic: Logic, inputs: Sequence[TupleType], outputs: Sequence[TupleType], where: Where) -> FollowResult:
    """Follow an operator class, from the object that is the initial state of every key. `on_mark` and `at_end` are
    followed for their effect on the state; only tuples that `process` emits are counted."""
    m = Machine(where, outputs)
    itself = Known(logic, STATE)
    counts: dict[int, Count] = {}
    copied: dict[int, dict[int, Copied]] = {}

    def call(name: str, *args: Value) -> Value:
        return _enter(m, where, just(Bound(getattr(type(logic), name), itself)), args)

    def once() -> None:
        counts.clear()
        copied.clear()
        if type(logic).setup is not Logic.setup:
            notes, m.notes = m.notes, Notes()
            m.resource = _shared(m, call("setup"))
            m.notes = notes.with_setup(m.notes)
        for port, kind in enumerate(inputs):
            m.notes.emitted = {}
            call("process", just(InputTuple(kind, port)), just(Known(port)))
            _count(m, counts)
            for out, origin in m.notes.emitted.items():
                copied.setdefault(out, {})[port] = origin
        for name in ("on_mark", "at_end"):
            if getattr(type(logic), name) is not getattr(Logic, name):
                call(name, *([just(ValueOf(int))] if name == "on_mark" else []))
                m.notes.writes_state = m.notes.writes_state or Reason(f"defines {name}", where)

    _settles(m, where, once)
    return FollowResult(m.notes, counts, copied, sure=m.notes.hidden is None)


def _enter(m: Machine, where: Where, callee: Value, args: Sequence[Value]) -> Value:
    m.start(where.file)
    return m.call(callee, Args(args), m.entry)


def _settles(m: Machine, where: Where, once: Callable[[], None]) -> bool:
    """Run until memory no longer grows; return whether the code was understood."""
    reason: Reason | None = Reason("has too much code to analyze", where)
    try:
        for _ in range(m.limits.rounds):
            m.memory.grew, m.notes.lost = False, None
            once()
            if not m.memory.grew:
                reason = m.notes.lost
                break
    except (TooLong, RecursionError):
        pass
    if reason is None:
        return True
    m.notes.effect(UNKNOWN_CALL, reason)
    m.notes.hidden = m.notes.hidden or reason
    for port in {*m.notes.reads, 0}:
        m.notes.read(port, None)
    return False


def _shared(m: Machine, made: Value) -> Value:
    """The result of `setup`: all keys of a worker share it."""
    found: list[Item] = []
    for item in aged(made, RESOURCE):
        if isinstance(item, Known) and not live_objects.is_fixed(item.value):
            item = Known(item.value, RESOURCE)
        found.append(item)
    return join((frozenset(found), m.resource if m.resource != NONE else NOTHING))


def _count(m: Machine, counts: dict[int, Count]) -> None:
    settle(m)
    if m.store is None:
        return
    for port in range(len(m.outputs)):
        one = m.store.counts.get(port, (0, 0))
        counts[port] = one if port not in counts else either(counts[port], one)
