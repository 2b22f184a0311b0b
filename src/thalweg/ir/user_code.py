"""The user code that an operator runs, in three forms, each with its arguments and the use of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.errors import Where
from thalweg.ir.expr import Record
from thalweg.ir.logic import Logic
from thalweg.ir.types import AttributeType, TupleType

if TYPE_CHECKING:
    from thalweg.ir.folds import Fold

# How the result of a function is used.
TRUTH, TUPLE, TUPLES, VALUE = "truth", "tuple", "tuples", "value"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list that no other code holds, passed to a function: of tuples, or of values. None: its items are unknown."""

    item: TupleType | AttributeType | None


Argument = TupleType | type | ListOf | None  # a tuple, a value of a Python type, a list; None: anything


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFunction:
    """A function that is called with `arguments`."""

    function: Callable[..., Any]
    where: Where
    arguments: tuple[Argument, ...]
    use: str
    output: TupleType | None = None  # the type of the tuple or tuples that it returns
    main: bool = False  # whether this code defines the operator
    exact: bool = False  # whether an expression has its complete meaning, so that its code adds nothing
    contract: str = ""  # why a result depends on the arguments alone, even if the code cannot be analyzed


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStateFunction:
    """A function of a tuple, the key's state and `submit`."""

    function: Callable[..., Any]
    where: Where
    state: object  # the initial state of every key
    input: TupleType
    outputs: tuple[TupleType, ...]
    main: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class UserClass:
    """An operator class, given as the object that is the initial state of every key."""

    logic: Logic
    where: Where
    inputs: tuple[TupleType, ...]
    outputs: tuple[TupleType, ...]
    main: bool = True


UserCode = UserFunction | UserStateFunction | UserClass


def is_own(function: object) -> bool:
    """Whether a callable object belongs to Thalweg, like the decoder of a topic's records. Those are stateless."""
    return type(function).__module__.startswith("thalweg.")


def fold_code(folds: tuple[Fold, ...], kind: TupleType, where: Where) -> Iterator[UserFunction]:
    """The functions of an aggregate: arguments, picked values, and user-defined aggregates."""
    for fold in folds:
        for one in (fold.argument, fold.picked):
            if one is not None:
                exact = one.expr is not None
                yield UserFunction(function=one.callable, where=where, arguments=(kind,), use=VALUE, exact=exact)
        if fold.function is not None:
            expr = fold.argument.expr if fold.argument is not None else None
            item = None if expr is None or isinstance(expr, Record) else expr.type
            yield UserFunction(function=fold.function, where=where, arguments=(ListOf(item),), use=VALUE)
