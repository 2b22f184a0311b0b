"""The base classes of operators, and the definitions that each kind must provide."""

from __future__ import annotations

import hashlib
import inspect
import types
from abc import abstractmethod
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from thalweg.errors import Where
from thalweg.ir.arguments import choice
from thalweg.ir.completeness import check_pieces
from thalweg.ir.expr import Expr, Record, reads, text
from thalweg.ir.operator_model import Model
from thalweg.ir.types import INT, INT64_MIN, STR, TupleType
from thalweg.ir.user_code import UserCode, UserFunction

# Punctuation and event time are separate streams next to the tuples: sent to all channels, and once after a merge.
MARK = TupleType("Mark", (("time", INT),))
ORIGIN_MARK = TupleType("OriginMark", (("time", INT), ("origin", INT)))  # the event time of one origin of a stream
NO_TIME = INT64_MIN  # in a mark: its stream has tuples, but no event time yet
DEAD_LETTER = TupleType("DeadLetter", (("operator", STR), ("error", STR), ("tuple", STR)))
# An invalid row of a file: `tuple` is its text, `row` its number in the file.
BAD_RECORD = TupleType("BadRecord", (*DEAD_LETTER.attributes, ("path", STR), ("row", INT)))
POLICIES = ("fail", "skip", "dead_letter")
Policy = Annotated[str, choice(*POLICIES)]


@dataclass(frozen=True, slots=True)
class StreamRef:
    """A stream: one output port of one operator."""

    operator: str
    port: int = 0

    def __str__(self) -> str:
        return self.operator if self.port == 0 else f"{self.operator}[{self.port}]"


@dataclass(frozen=True, slots=True)
class Function:
    """A user function, with the result of reading its code.

    `expr` is its meaning if every operation is on the allow-list; otherwise `opaque_because` is the reason.
    """

    callable: Callable[[Any], Any]
    where: Where
    expr: Expr | Record | None = None
    opaque_because: str | None = None

    def reads(self, names: Set[str]) -> Set[str]:
        """The subset of these attributes of its tuple that it may read."""
        return names if self.expr is None else reads(self.expr)

    def fingerprint(self) -> str:
        return text(self.expr) if self.expr is not None else code_fingerprint(self.callable)


def _without_docstring(code: types.CodeType) -> tuple[Any, ...]:
    """The constants of a function. Up to Python 3.12, the first one is its docstring, or None; that of a comprehension
    or of the body of a class is not a docstring."""
    if _HAS_DOCSTRING is not None:
        documented = bool(code.co_flags & _HAS_DOCSTRING)
    else:
        is_function = code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
        documented = bool(is_function) and isinstance(code.co_consts[0], str)
    return (None, *code.co_consts[1:]) if documented else code.co_consts


_HAS_DOCSTRING: int | None = getattr(inspect, "CO_HAS_DOCSTRING", None)  # since Python 3.13


def code_fingerprint(function: Callable[..., Any]) -> str:
    """A digest of a function's byte code and constants, without docstrings: the same in any process."""
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__qualname__", type(function).__qualname__)
    digest = hashlib.sha256()

    def add(part: types.CodeType) -> None:
        digest.update(part.co_code)
        digest.update(repr(part.co_names).encode())
        for constant in _without_docstring(part):
            if isinstance(constant, types.CodeType):
                add(constant)
            elif isinstance(constant, frozenset):  # `x in {"a", "b"}`: its order differs between processes
                digest.update(repr(sorted(map(repr, constant))).encode())
            else:
                digest.update(repr(constant).encode())

    add(code)
    return digest.hexdigest()[:16]


OPERATORS: dict[str, type[Operator]] = {}  # every kind of operator, by the name of its class


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A vertex of the graph. Ports are numbered from 0; `outputs` has one tuple type per output port.

    Each kind of operator is one class, or derives from a family like `Stateless`, which defines some parts for it. What
    is still missing makes the definition of the class fail. What other layers add to a kind (generated code, the
    reference) is in tables that `complete(table, OPERATORS.values(), …)` checks when they are created.
    """

    name: str
    inputs: tuple[StreamRef, ...] = ()
    outputs: tuple[TupleType, ...] = ()
    where: Where = field(compare=False)
    on_error: str = "fail"  # one of POLICIES; `dead_letter` appends an output port
    # The types of its inputs, with the copies of users' classes whose methods its code calls; (): as in its streams.
    own_types: tuple[TupleType, ...] = field(default=(), compare=False, repr=False)

    counts_emissions: ClassVar[bool]  # whether the tuples that it emits for one tuple are numbered, over all ports
    is_family: ClassVar[bool] = True  # of a class itself: whether it is only a base class of several kinds

    def __init_subclass__(cls) -> None:  # called twice per class: `slots` creates a second class, which is used
        if cls.__dict__.get("is_family"):
            return
        check_pieces(cls, Operator)
        OPERATORS[cls.__qualname__] = cls

    # Defined by every kind: a default that is wrong for a kind would change answers or hide code, and not fail.

    @abstractmethod
    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        """The properties that do not depend on user functions; None: everything depends on user code. `inputs`: the
        types of the ports that take tuples."""

    @abstractmethod
    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        """The attributes of an input port that it needs if the output attributes in `live` are needed.

        `by_rows`: complete functions are called, so that the inputs of dead output attributes are needed, too.
        """

    @abstractmethod
    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        """The user code that it runs."""

    @property
    @abstractmethod
    def users_code(self) -> object | None:
        """The user function or class that defines this operator: its declaration applies to the operator."""

    @property
    @abstractmethod
    def mark_output(self) -> int | None:
        """The output port that forwards marks, after the tuples that they made this operator emit."""

    # Defined by every kind that is not `Stateless`.

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...] | None:
        """The key that partitions this operator's state; None for a stateless operator, () for one global state."""

    @abstractmethod
    def port_key(self, port: int) -> tuple[str, ...] | None:
        """The key attributes of an input port's tuples."""

    @abstractmethod
    def state_fingerprint(self) -> str:
        """A text of everything that must not change for stored state to stay valid."""

    @property
    @abstractmethod
    def mark_port(self) -> int | None:
        """The input port that takes marks; every channel receives all of them."""

    @property
    @abstractmethod
    def makes_marks(self) -> bool:
        """Whether it emits only marks."""

    @property
    @abstractmethod
    def acts_at_end(self) -> bool:
        """Whether it may emit tuples at the end of the input."""

    @property
    @abstractmethod
    def ranks_keys(self) -> bool:
        """Whether it may emit tuples of several keys together, so that its order keys must distinguish keys."""

    @property
    @abstractmethod
    def late_ports(self) -> range:
        """The output ports of tuples that arrived too late for their windows; a join has one for each side."""

    @property
    @abstractmethod
    def time_lengths(self) -> tuple[int, ...]:
        """Durations in event time: a mark is required at every multiple of them."""

    @property
    @abstractmethod
    def placing_ports(self) -> range:
        """The input ports whose tuples determine the order of what it emits."""

    # Defined by some kinds: these defaults are safe for all.

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    @property
    def state_text(self) -> str:
        """A description of the state; empty if there is none."""
        if self.key is None:
            return ""
        return f"by {', '.join(self.key)}" if self.key else "one for all tuples"

    @property
    def facts_cover_end(self) -> bool:
        """Whether facts also hold for what it emits at marks and at the end, not only for what it emits for tuples."""
        return False

    # Derived from these definitions.

    @property
    def port_keys(self) -> tuple[tuple[str, ...], ...]:
        """The key of each input port that takes tuples; empty without state."""
        ports = [port for port in range(len(self.inputs)) if port != self.mark_port]
        return () if self.key is None else tuple(self.port_key(port) or () for port in ports)

    @property
    def dead_port(self) -> int | None:
        """The output port of tuples that failed."""
        return len(self.outputs) - 1 if self.on_error == "dead_letter" else None

    @property
    def output(self) -> StreamRef:
        return StreamRef(self.name)

    @property
    def sub_positions(self) -> int:
        """The number of sub-positions that it adds to the order keys of what it emits."""
        return rank_width(self) + self.counts_emissions


@dataclass(frozen=True, slots=True, kw_only=True)
class Stateless(Operator):
    """Emits tuples only when a tuple arrives, and keeps nothing for later: no state, no marks to act on, no end."""

    is_family: ClassVar[bool] = True

    key = None
    mark_port = None
    makes_marks = False
    acts_at_end = False
    ranks_keys = False
    late_ports = range(0)
    time_lengths = ()

    def port_key(self, port: int) -> tuple[str, ...] | None:
        return None

    def state_fingerprint(self) -> str:
        raise ValueError(f"{self.name} has no state")

    @property
    def placing_ports(self) -> range:
        return range(len(self.inputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling(Stateless):
    """Calls a user function for each tuple."""

    is_family: ClassVar[bool] = True
    use: ClassVar[str]  # how its result is used

    function: Function

    @property
    def users_code(self) -> object | None:
        return self.function.callable

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return (
            UserFunction(
                function=self.function.callable,
                where=self.where,
                arguments=inputs[:1],
                use=self.use,
                output=self.outputs[0],
                main=True,
                exact=self.function.expr is not None,
            ),
        )


def rank_width(operator: Operator) -> int:
    """The number of sub-positions that order what is emitted for several keys: rank, key attributes, key hash."""
    if not operator.ranks_keys:
        return 0
    return 1 + (len(operator.key) + 1 if operator.key else 0)
