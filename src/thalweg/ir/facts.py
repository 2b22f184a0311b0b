"""Facts: what is known of an operator, each with its reason and the place in the user's program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.errors import Where

STATELESS, PARTITIONED, UNKNOWN = "stateless", "partitioned", "unknown"

# Effects. With an effect of the first line, calls can influence each other: such an operator is not stateless.
MUTATES, MUTATES_INPUT, READS_CHANGED, UNKNOWN_CALL = "mutates", "mutates_input", "reads_changed", "unknown_call"
IO, TIME, RANDOMNESS, HASH_ORDER, READS_MUTABLE = "io", "time", "randomness", "hash_order", "reads_mutable"
HIDDEN_STATE = (MUTATES, MUTATES_INPUT, READS_CHANGED)
NOT_STATELESS = (*HIDDEN_STATE, UNKNOWN_CALL)
EFFECTS = (*NOT_STATELESS, IO, TIME, RANDOMNESS, HASH_ORDER, READS_MUTABLE)


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a fact, and its location in the user's program."""

    text: str
    where: Where

    def __str__(self) -> str:
        return f"{self.text}, {self.where}"


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a call does in addition to its result, or that its result depends on in addition to its input."""

    kind: str  # one of EFFECTS
    reason: Reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


@dataclass(frozen=True, slots=True)
class StateFact:
    """What is kept from tuple to tuple. `by`: of a partitioned state, the key attributes of each input port that takes
    tuples; `()`: one state for all."""

    kind: str  # STATELESS, PARTITIONED or UNKNOWN
    because: Reason
    by: tuple[tuple[str, ...], ...] = ()

    @property
    def has_key(self) -> bool:
        """Whether channels can each hold the state of their own keys."""
        return self.kind == PARTITIONED and all(self.by)

    def __str__(self) -> str:
        if self.kind != PARTITIONED:
            return self.kind
        keys = sorted({", ".join(key) for key in self.by})
        return f"partitioned by {' | '.join(keys)}" if self.has_key else "one state for all tuples"


@dataclass(frozen=True, slots=True)
class Selectivity:
    """How many tuples one input tuple makes an output port emit. `most` None: any number. What marks and the end make
    an operator emit does not count (see `Operator.acts_at_end` and `Operator.ranks_keys`)."""

    least: int
    most: int | None
    because: Reason
    known: bool = True

    @property
    def exactly_one(self) -> bool:
        return self.least == self.most == 1

    def __str__(self) -> str:
        if not self.known:
            return "unknown"
        return (
            str(self.least) if self.least == self.most else f"{self.least}..{'*' if self.most is None else self.most}"
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one operator.

    `selectivity`: by output port. `reads`: by input port, the attributes that the operator looks at (None: all, or
    unknown); an attribute that it only passes on need not be among them. `forwards`: by output port, then by input
    port: output attribute -> the input attribute that it is an unchanged copy of, for every tuple that an input tuple
    of that port makes it emit; of a key, a value that is equal as a key counts as a copy. Ports of marks and dead
    letters forward nothing.
    """

    state: StateFact
    selectivity: tuple[Selectivity, ...]
    reads: tuple[frozenset[str] | None, ...]
    forwards: tuple[tuple[Mapping[str, str], ...], ...]
    writes: tuple[frozenset[str], ...]  # by output port: attributes that are new or may have another value
    effects: tuple[Effect, ...] = ()
    declared: Reason | None = None

    @property
    def stateless(self) -> bool:
        return self.state.kind == STATELESS

    def has(self, *kinds: str) -> bool:
        return any(effect.kind in kinds for effect in self.effects)

    def effects_of(self, *kinds: str) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.kind in kinds)
