"""Operators: the vertices of a LogicalGraph."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.errors import Where
from thalweg.ir.endpoints import SinkEndpoint, SourceEndpoint
from thalweg.ir.expr import Expr, Record, text
from thalweg.ir.logic import Logic, acts_at_end, acts_on_marks
from thalweg.ir.types import INT, STR, TupleType
from thalweg.ir.windows import Window

if TYPE_CHECKING:
    from thalweg.ir.folds import Fold  # which holds functions of this module

# Punctuation and event time travel as streams of their own beside the tuples: to all channels, and once behind a merge.
MARK = TupleType("Mark", (("time", INT),))
DEAD_LETTER = TupleType("DeadLetter", (("operator", STR), ("error", STR), ("tuple", STR)))
# What a file has in place of a tuple: `tuple` is its text, `row` its number in the file.
BAD_RECORD = TupleType("BadRecord", (*DEAD_LETTER.attributes, ("path", STR), ("row", INT)))
POLICIES = ("fail", "skip", "dead_letter")


@dataclass(frozen=True, slots=True)
class StreamRef:
    """A stream: one output port of one operator."""

    operator: str
    port: int = 0

    def __str__(self) -> str:
        return self.operator if self.port == 0 else f"{self.operator}[{self.port}]"


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function, with what could be read of it.

    `expr` is its meaning when every operation is on the allow-list; otherwise `opaque_because` says why not.
    """

    callable: Callable[[Any], Any]
    where: Where
    expr: Expr | Record | None = None
    opaque_because: str | None = None

    def fingerprint(self) -> str:
        return text(self.expr) if self.expr is not None else code_fingerprint(self.callable)


def code_fingerprint(function: Callable[..., Any]) -> str:
    """A digest of a function's byte code and constants: the same code gives the same digest in any process."""
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__qualname__", type(function).__qualname__)
    digest = hashlib.sha256()

    def add(part: types.CodeType) -> None:
        digest.update(part.co_code)
        digest.update(repr(part.co_names).encode())
        for constant in part.co_consts:
            if isinstance(constant, types.CodeType):
                add(constant)
            elif isinstance(constant, frozenset):  # `x in {"a", "b"}`: its order changes from process to process
                digest.update(repr(sorted(map(repr, constant))).encode())
            else:
                digest.update(repr(constant).encode())

    add(code)
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A vertex. Ports are counted from 0; `outputs` has one tuple type per output port."""

    name: str
    inputs: tuple[StreamRef, ...] = ()
    outputs: tuple[TupleType, ...] = ()
    where: Where = field(compare=False)
    on_error: str = "fail"  # one of POLICIES; `dead_letter` adds a last output port

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    @property
    def dead_port(self) -> int | None:
        """The output port of tuples that failed."""
        return len(self.outputs) - 1 if self.on_error == "dead_letter" else None

    @property
    def mark_port(self) -> int | None:
        """The input port that takes marks; every channel gets all of them."""
        return None

    @property
    def mark_output(self) -> int | None:
        """The output port that passes marks on, behind what they made this operator emit."""
        return None

    def port_key(self, port: int) -> tuple[str, ...] | None:
        """The attributes of the tuples of an input port that are the key."""
        return self.key

    @property
    def acts_at_end(self) -> bool:
        """Whether it has something to say when the input has ended."""
        return False

    @property
    def ranks_keys(self) -> bool:
        """Whether it may emit for several keys at once, so that its order keys must tell keys apart."""
        return False

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key that partitions this operator's state; None for a stateless operator, () for one global state."""
        return None

    @property
    def output(self) -> StreamRef:
        return StreamRef(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Operator):
    endpoint: SourceEndpoint
    partition_by: tuple[str, ...] = ()  # tuples that differ here come from different places, as its user says


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback(Operator):
    """The start of a loop: what was fed back in one epoch comes first in the next one, in the order of its emission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMap(Operator):
    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Operator):
    """Each tuple goes to the one output port that the function names."""

    function: Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Operator):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """Folds over a window; the output fields are expressions over `Attr(fold_name(i))`."""

    window: Window
    folds: tuple[Fold, ...]
    fields: Record

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.window.by

    @property
    def acts_at_end(self) -> bool:
        return self.window.acts_at_end

    @property
    def ranks_keys(self) -> bool:
        return self.acts_at_end


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Port 0's tuples, each with the last tuple of port 1 that has the same key; port 0 is not stored."""

    on: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.on


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplit(Operator):
    """Each tuple goes to one output port by chance: a hash of the seed and of the tuple's position."""

    bounds: tuple[float, ...]  # the upper end of each port's share of 0..1
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatches(Operator):
    """A user's function on whole batches, one row out for each row in."""

    function: Function
    library: str  # arrow or polars


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace(Operator):
    """Changes when tuples go on, never what goes on: a pause per epoch, or a limit of tuples per second."""

    delay_s: float = 0.0
    rate_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime(Operator):
    """Port 0: the tuples; port 1: marks, each before the tuple whose time moved the event time over a step.

    The event time at a tuple is the greatest time so far less `lateness`, in whole steps. A frame knows only its own
    greatest time, so its marks may lag behind those of frames before it; who acts on marks ignores what has passed.
    """

    attribute: str
    lateness: int
    step: int

    @property
    def mark_output(self) -> int | None:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Punctor(Operator):
    """Port 0: the tuples; port 1: a mark before or behind each tuple for which the function is true."""

    function: Function
    before: bool

    @property
    def mark_output(self) -> int | None:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Operator):
    """Python code that takes the tuples of all ports one at a time in the order of their positions.

    `by` has the key attributes of each port that takes tuples; None: no state. The last input port takes marks if
    `marked`; the output port behind those of `results` passes them on.
    """

    word: str
    logic: Logic = field(compare=False)
    by: tuple[tuple[str, ...], ...] | None
    marked: bool = False
    timed: bool = False  # marks carry event time: one that does not move it on is none
    results: int = 1

    def result_type(self, port: int) -> TupleType:
        """The type of an output port that code may submit to; behind those come ports for marks and dead letters."""
        if type(port) is not int or not 0 <= port < self.results:
            raise ValueError(f"expected a port in 0..{self.results - 1}, found {port!r}")
        return self.outputs[port]

    @property
    def kind(self) -> str:
        return self.word

    @property
    def key(self) -> tuple[str, ...] | None:
        return None if self.by is None else self.by[0]

    def port_key(self, port: int) -> tuple[str, ...] | None:
        return None if self.by is None or port == self.mark_port else self.by[port]

    @property
    def mark_port(self) -> int | None:
        return len(self.inputs) - 1 if self.marked else None

    @property
    def mark_output(self) -> int | None:
        return self.results if self.marked else None

    @property
    def acts_at_end(self) -> bool:
        return acts_at_end(self.logic)

    @property
    def ranks_keys(self) -> bool:
        return self.by is not None and (self.acts_at_end or (self.marked and acts_on_marks(self.logic)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Operator):
    endpoint: SinkEndpoint


def rank_width(operator: Operator) -> int:
    """How many sub-positions order what an operator emits for several keys at once: rank, key attributes, key hash."""
    if not operator.ranks_keys:
        return 0
    return 1 + (len(operator.key) + 1 if operator.key else 0)


def state_fingerprint(operator: Operator) -> str:
    """What must not change for an operator's stored state to stay meaningful."""
    match operator:
        case Aggregate(window=window, folds=folds):
            return f"aggregate v1 {window} {'; '.join(fold.fingerprint() for fold in folds)}"
        case Join(on=on, outputs=outputs):
            return f"join v1 last(1) on {', '.join(on)} {outputs[0].attributes}"
        case Process(word=word, logic=logic, by=by):
            return f"process v1 {word} {type(logic).__qualname__} {logic_settings(logic)} by {by}"
        case _:
            raise ValueError(f"{operator.name} keeps no state")


def logic_settings(logic: Logic) -> str:
    """What built-in logic was set to. The state of users' logic has a version of its own, and their `upgrade`."""
    settings = getattr(logic, "settings", None)
    return "" if settings is None else str(settings())
