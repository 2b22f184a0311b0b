"""What was found while code was followed. It only grows: code that may run is taken to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thalweg.analysis.program.store import ANY_NUMBER, Count
from thalweg.ir.facts import HIDDEN_STATE, NOT_STATELESS, RANDOMNESS, TIME, Effect, Reason

# What is changed or read outside the call: an object, or a name in a namespace (of a module, or a closure's cell).
Place = tuple[object, str]
Places = dict[tuple[int, str, Reason], Place]  # by identity: the objects need not be hashable


@dataclass(slots=True)
class Notes:
    """Findings of one function or operator class."""

    effects: dict[Effect, None] = field(default_factory=dict)
    changed: Places = field(default_factory=dict)
    exposed: Places = field(default_factory=dict)  # given to code that cannot be followed
    seen: Places = field(default_factory=dict)
    reads: dict[int, set[str] | None] = field(default_factory=dict)  # by input port; None: the whole tuple
    writes_state: Reason | None = None
    reads_time: Reason | None = None  # the event time that has passed
    emitted: dict[int, Copied] = field(default_factory=dict)  # by output port
    hidden: Reason | None = None  # code that cannot be followed may emit, too
    lost: Reason | None = None  # in this round: something was used of which no value is known

    def effect(self, kind: str, reason: Reason) -> None:
        self.effects.setdefault(Effect(kind, reason))

    def fresh(self) -> Notes:
        """Notes for a part of the code that is followed separately."""
        return Notes(reads=self.reads, writes_state=self.writes_state, reads_time=self.reads_time, emitted=self.emitted)

    def with_more(self, part: Notes, kept: tuple[str, ...] | None) -> Notes:
        """What was found in a part that is declared stateless, or to have these effects. What it sees is covered
        by the declaration; what it changes may be seen by code of which nothing is declared."""
        for effect in part.effects:
            if effect.kind in kept if kept is not None else effect.kind not in NOT_STATELESS:
                self.effects.setdefault(effect)
        self.writes_state, self.reads_time = part.writes_state, part.reads_time
        self.hidden = self.hidden or part.hidden
        self.changed |= part.changed
        self.exposed |= part.exposed
        return self

    def with_setup(self, part: Notes) -> Notes:
        """What was found in `setup`. It runs once per worker, not for tuples: what is unknown of it makes none depend
        on another; but what it draws, measures or counts differs between workers."""
        for effect in part.effects:
            if effect.kind in (TIME, RANDOMNESS, *HIDDEN_STATE):
                self.effects.setdefault(effect)
        self.changed |= part.changed
        self.seen |= part.seen
        return self

    def changes(self, place: Place, reason: Reason) -> None:
        self.changed[id(place[0]), place[1], reason] = place

    def exposes(self, place: Place, reason: Reason) -> None:
        self.exposed[id(place[0]), place[1], reason] = place

    def saw(self, place: Place, reason: Reason) -> None:
        self.seen[id(place[0]), place[1], reason] = place

    def read(self, port: int, names: Iterable[str] | None) -> None:
        if port < 0:
            return
        known = self.reads.setdefault(port, set())
        if names is None or known is None:
            self.reads[port] = None
        else:
            known.update(names)

    def emit(self, port: int, copied: Copied | None) -> None:
        found = both(self.emitted.get(port), copied)
        if found is not None:
            self.emitted[port] = found


# Of an emitted tuple: output attribute -> (input port, attribute) that it is a copy of. None instead: not a tuple.
Copied = Mapping[str, tuple[int, str]]


def both(a: Copied | None, b: Copied | None) -> Copied | None:
    """What holds of two tuples."""
    if a is None or b is None:
        return b if a is None else a
    return {name: origin for name, origin in a.items() if b.get(name) == origin}


@dataclass(frozen=True, slots=True)
class Found:
    """The result of following a function or an operator class."""

    notes: Notes
    counts: Mapping[int, Count]  # by output port
    copied: Mapping[int, Mapping[int, Copied]]  # by output port, then input port
    length: Count = ANY_NUMBER  # of what a function returns, if that is an iterable
    returned: Copied | None = None  # of what a function returns, if that is a tuple
    elements: Copied | None = None  # of the tuples in what it returns
    sure: bool = True  # whether `length` or `counts` is that of all its code
