"""Checks of the arguments of public functions, derived from their signatures.

A function under `@checked` refuses an unknown name, a missing argument and a value of a wrong type, with the user's
line. Its annotations say what is accepted: `bool`, `int`, `str | None`, lists and dicts of these, and types with a
`Rule` such as `Count`. Streams, windows, endpoints and tuple types are left to the function, which knows more of them.
"""

from __future__ import annotations

import datetime as dt
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from thalweg.errors import GraphError, Where, described, did_you_mean
from thalweg.ir.user_calls import call_place, user_frame

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be, in words; `known`: the texts that it may be."""

    words: str
    holds: Callable[[Any], bool] = lambda value: True
    known: tuple[str, ...] = ()


def choice(*known: str) -> Rule:
    return Rule(", ".join(known), known.__contains__, known)


Count = Annotated[int, Rule("a whole number, 1 or more", lambda value: 1 <= value < 2**63)]
CountOrZero = Annotated[int, Rule("a whole number, 0 or more", lambda value: 0 <= value < 2**63)]
Positive = Annotated[float, Rule("a finite number, more than 0", lambda value: 0 < value < math.inf)]
Seconds = Annotated[float, Rule("seconds, more than 0", lambda value: 0 < value < math.inf)]
RowFunction = Annotated[Callable[[Any], Any], Rule("a function of one tuple")]


CHECKED_INSIDE = Rule("")  # the function itself checks such a value, and its message says more


class Placeholder:
    """A value that is not known; `used` raises the error that says why."""

    def used(self) -> None:
        raise NotImplementedError


def checked(function: Callable[P, R], label: str = "") -> Callable[P, R]:
    """The function with checks of its arguments; messages name it by its label."""
    label, signature = label or function.__name__, inspect.signature(function)

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        kinds = _kinds(function)
        bound = bound_arguments(label, signature, arguments, named, kinds)
        for name, value in bound.arguments.items():
            parameter, kind = signature.parameters[name], kinds.get(name, Any)
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            for given in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
                _check(label, name, given, kind)
        return function(*arguments, **named)

    return call


def bound_arguments(
    label: str,
    signature: inspect.Signature,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    kinds: Mapping[str, Any],
) -> inspect.BoundArguments:
    """The arguments by name; raises if a name is unknown, or if there are too few or too many."""
    known, open_ended = _option_names(signature, kinds)
    for name in _fields_in_the_way(signature, named, kinds):
        raise GraphError(
            f"{name} is an argument of {label}",
            where=_place(),
            expected="a different name for the field, or fields as a dict",
            found=f"{name}=…",
            hint=f'{label}(…, {{"{name}": …}})',
        )
    for name in named:
        if name not in known and not open_ended:
            raise GraphError(
                f"{label} has no argument {name}",
                where=_place(),
                expected=", ".join(known) or "no arguments",
                found=name,  # without its value, which may be a password
                hint=did_you_mean(name, known),
            )
    try:
        return signature.bind(*arguments, **named)
    except TypeError as error:
        expected = f"{label}({_shown(signature)})"
        raise GraphError(
            f"{label}: {error}",
            where=_place(),
            expected=expected,
            hint="arguments after * are given by name" if "*, " in expected and "positional" in str(error) else None,
        ) from None


def _fields_in_the_way(
    signature: inspect.Signature, named: Mapping[str, Any], kinds: Mapping[str, Any]
) -> Iterator[str]:
    """The arguments that are meant as fields, of a function that takes fields of any name."""
    fields = next((kinds.get(p.name) for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    if isinstance(fields, type) and fields is not object:
        known = {parameter.name for parameter in _written(signature)}
        yield from (n for n, value in named.items() if n in known and isinstance(value, fields))


def _option_names(signature: inspect.Signature, kinds: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The names by which arguments can be given, and whether there may be any others."""
    names: list[str] = []
    open_ended = False
    for parameter in _written(signature):
        if parameter.kind is parameter.VAR_KEYWORD:
            options = get_args(kinds.get(parameter.name))
            names += get_type_hints(options[0]) if options else ()
            open_ended = not options
        elif parameter.kind is not parameter.VAR_POSITIONAL and parameter.kind is not parameter.POSITIONAL_ONLY:
            names.append(parameter.name)
    return names, open_ended


def _written(signature: inspect.Signature) -> list[inspect.Parameter]:
    """The parameters without the stream or the application of a method."""
    return [p for p in signature.parameters.values() if p.name not in ("self", "stream")]


def _shown(signature: inspect.Signature) -> str:
    """The parameters as a user would write them."""
    texts: list[str] = []
    for parameter in _written(signature):
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" * (parameter.kind is parameter.VAR_KEYWORD)
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        texts.append(f"{star}{parameter.name}{default}")
    return ", ".join(texts)


def _place() -> Where:
    return call_place(user_frame())


_LEFT_TO_THE_FUNCTION = dict.fromkeys(("App", "DataFrame", "SparkSession", "Stream"), object)


@cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations. Some classes cannot be imported where they are used in them."""
    return get_type_hints(function, localns=_LEFT_TO_THE_FUNCTION, include_extras=True)


def _check(label: str, name: str, value: object, kind: Any) -> None:
    if isinstance(value, Placeholder):
        value.used()
    if fits(value, kind):
        return
    known = [text for one in (kind, *get_args(kind)) if isinstance(one, Rule) for text in one.known]
    raise GraphError(
        f"{label}: bad {name}",
        where=_place(),
        expected=words(kind),
        found=called(value),
        hint=did_you_mean(value, known) if isinstance(value, str) else None,
    )


_SCALARS: Mapping[Any, str] = {
    bool: "True or False",
    int: "an int",
    float: "a number",
    str: "a str",
    Path: "a Path",
    Decimal: "a Decimal",
    dt.timedelta: "a timedelta",
    NoneType: "None",
}


_CLASSES = {"AggregateExpr": "an aggregate", "Tuple": "a tw.Tuple"}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type. A bool is not a number; an int is a float."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _is_scalar(value, kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Annotated:
        return CHECKED_INSIDE in inner or (fits(value, inner[0]) and all(rule.holds(value) for rule in inner[1:]))
    if origin is Callable:
        return callable(value) and takes(value, inner[0])
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if origin is tuple and inner[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, value, inner))
    if origin in (list, tuple, Iterable, Sequence):
        return _is_collection(value, origin) and all(fits(one, inner[0]) for one in _elements(value))
    return True


def takes(function: Callable[..., Any], arguments: object) -> bool:
    """Whether a function can be called with a list of arguments; any other `arguments` stand for an unknown list."""
    signature = _signature(function)
    if signature is None or not isinstance(arguments, list):
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """That of the function that is called, which may call a different one. None: a built-in one does not tell."""
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def called(value: object) -> str:
    """The text of an unexpected value; a function with its arguments, which may be the wrong ones."""
    signature = None if isinstance(value, type) or not callable(value) else _signature(value)
    return described(value) if signature is None else f"{described(value)}{signature}"


def _is_scalar(value: Any, kind: Any) -> bool:
    if kind in (bool, int):
        return type(value) is kind
    if kind is float and isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return isinstance(value, int | float if kind is float else kind) and not isinstance(value, bool)


def _is_collection(value: Any, kind: Any) -> bool:
    """A text is a collection of texts only by accident."""
    return isinstance(value, kind) and not isinstance(value, str | bytes)


def _elements(value: Any) -> Iterable[Any]:
    """Those of a collection that can be read again."""
    return value if isinstance(value, list | tuple | set | frozenset | Mapping) else ()


def words(kind: Any) -> str:
    """An annotated type, as a user would say it."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin in (Union, UnionType):
        *most, last = [words(one) for one in inner]
        first = " or ".join(most)
        return f"{first}, or {last}" if "," in first else f"{first} or {last}"
    if origin is Annotated:
        return str(inner[1].words)
    if origin is Callable:
        return "a function"
    if origin is Mapping:
        return f"a dict of {words(inner[0])} to {words(inner[1])}"
    if origin is tuple and inner[-1] is not ...:
        return f"({', '.join(map(words, inner))})"
    if origin in (list, tuple, Iterable, Sequence):
        return f"a list of {words(inner[0]).removeprefix('a ').removeprefix('an ')}"
    return "a value" if kind in (Any, object) else _CLASSES.get(kind.__name__, f"a {kind.__name__}")
