"""The findings about followed code. They only grow: code that may run is assumed to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thalweg.analysis.program.store import ANY_NUMBER, Count
from thalweg.ir.facts import HIDDEN_STATE, NOT_STATELESS, RANDOMNESS, TIME, Effect, Reason

# A place outside the call that is read or changed: an object, or a name in a namespace (a module, a closure cell).
Place = tuple[object, str]
Places = dict[tuple[int, str, Reason], Place]  # by identity: the objects need not be hashable


@dataclass(slots=True)
class Notes:
    """Findings of one function or operator class."""

    effects: dict[Effect, None] = field(default_factory=dict)
    changed: Places = field(default_factory=dict)
    exposed: Places = field(default_factory=dict)  # passed to code that cannot be followed
    seen: Places = field(default_factory=dict)
    reads: dict[int, set[str] | None] = field(default_factory=dict)  # by input port; None: all
    writes_state: Reason | None = None
    reads_time: Reason | None = None  # the current event time
    emitted: dict[int, Copied] = field(default_factory=dict)  # by output port
    hidden: Reason | None = None  # code that cannot be followed may also emit
    lost: Reason | None = None  # in this round: an unknown value was used

    def effect(self, kind: str, reason: Reason) -> None:
        self.effects.setdefault(Effect(kind, reason))

    def fresh(self) -> Notes:
        """Notes for a part of the code that is followed separately."""
        return Notes(reads=self.reads, writes_state=self.writes_state, reads_time=self.reads_time, emitted=self.emitted)

    def with_more(self, part: Notes, kept: tuple[str, ...] | None) -> Notes:
        """Add the findings about a part that is declared stateless, or to have these effects. The declaration covers
        what the part reads; what it changes may be seen by code without a declaration."""
        for effect in part.effects:
            if effect.kind in kept if kept is not None else effect.kind not in NOT_STATELESS:
                self.effects.setdefault(effect)
        self.writes_state, self.reads_time = part.writes_state, part.reads_time
        self.hidden = self.hidden or part.hidden
        self.changed |= part.changed
        self.exposed |= part.exposed
        return self

    def with_setup(self, part: Notes) -> Notes:
        """Add the findings about `setup`. It runs once per worker, not per tuple: unknown calls in it do not make one
        tuple depend on another, but its random numbers, clock readings and counts differ between workers."""
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
    """The copies that two tuples have in common."""
    if a is None or b is None:
        return b if a is None else a
    return {name: origin for name, origin in a.items() if b.get(name) == origin}


@dataclass(frozen=True, slots=True)
class FollowResult:
    """The result of following a function or an operator class."""

    notes: Notes
    counts: Mapping[int, Count]  # by output port
    copied: Mapping[int, Mapping[int, Copied]]  # by output port, then input port
    length: Count = ANY_NUMBER  # of the result of a function, if that is an iterable
    returned: Copied | None = None  # of the result of a function, if that is a tuple
    elements: Copied | None = None  # of the tuples in the result
    sure: bool = True  # whether `length` or `counts` covers all code
