"""`tw.declare`: facts about a function or operator class that its author knows and the analysis cannot find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from thalweg.errors import GraphError, Where, did_you_mean, shown
from thalweg.ir.arguments import CHECKED_INSIDE, checked
from thalweg.ir.declarations import ALL, Declaration
from thalweg.ir.facts import EFFECTS, STATELESS, UNKNOWN
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.window import Names

Bounds = int | tuple[int, int | None]


@checked
def declare(
    *,
    state: Names = None,
    selectivity: Annotated[Bounds | list[Bounds] | None, CHECKED_INSIDE] = None,
    forwards: Annotated[str | Iterable[str] | Mapping[str, str] | None, CHECKED_INSIDE] = None,
    reads: Names = None,
    effects: Names = None,
) -> Declaration:
    """Declare facts about a function, a lambda or an operator class: `@tw.declare(state="stateless")` above it, or
    `tw.declare(…)(lambda t: …)`, or as the `model` of an operator class.

    `state`: "stateless", "unknown", or the key attributes that partition it. `selectivity`: tuples emitted for each
    tuple: a number, or (least, most), where most=None is any number; a list has one entry for each output port.
    `forwards`: attributes that are copied unchanged, {output: input} where the names differ, or "all". `reads`: the
    attributes that are used. `effects`: "none", or the remaining effects. Facts that are not declared are found by
    reading the code. `thalweg check` tests declarations on data.
    """
    where = call_place(user_frame())
    return Declaration(
        where=where,
        state=_state(state, where),
        selectivity=_selectivity(selectivity, where),
        forwards=_forwards(forwards, where),
        reads=None if reads is None else frozenset(_names(reads, "reads", where)),
        effects=_effects(effects, where),
    )


def _names(given: str | Iterable[str], word: str, where: Where) -> tuple[str, ...]:
    found: tuple[Any, ...] = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(name, str) and name for name in found):
        raise GraphError(f"tw.declare: bad {word}", where=where, expected="names of attributes", found=shown(given))
    return found


def _state(given: str | Iterable[str] | None, where: Where) -> tuple[str, ...] | str | None:
    if given is None:
        return None
    if not isinstance(given, str | set | frozenset):
        return _names(given, "state", where)
    if given in (STATELESS, UNKNOWN):
        return str(given)
    hint = f"({given!r},), if it is an attribute" if isinstance(given, str) else None
    raise GraphError(
        "tw.declare: bad state",
        where=where,
        expected=f"{STATELESS!r}, {UNKNOWN!r}, or a tuple of key attributes",
        found=shown(given),
        hint=did_you_mean(str(given), (STATELESS, UNKNOWN)) or hint,
    )


def _selectivity(given: Any, where: Where) -> tuple[tuple[int, int | None], ...] | None:
    if given is None:
        return None
    return tuple(_bounds(one, where) for one in (given if isinstance(given, list) else [given]))


def _bounds(given: Any, where: Where) -> tuple[int, int | None]:
    found = (given, given) if type(given) is int else given
    if not (isinstance(found, tuple) and len(found) == 2) or not _in_order(*found):
        raise GraphError(
            "tw.declare: bad selectivity",
            where=where,
            expected="a number, or (least, most), where most may be None; a list has one entry for each output port",
            found=shown(given),
        )
    return found


def _in_order(least: Any, most: Any) -> bool:
    return type(least) is int and least >= 0 and (most is None or (type(most) is int and most >= least))


def _forwards(given: Any, where: Where) -> Mapping[str, str] | str | None:
    if given is None or (isinstance(given, str) and given == ALL):
        return None if given is None else ALL
    if isinstance(given, Mapping):
        _names([*given.keys(), *given.values()], "forwards", where)
        return dict(given)
    return {name: name for name in _names(given, "forwards", where)}


def _effects(given: str | Iterable[str] | None, where: Where) -> tuple[str, ...] | None:
    if given is None or (isinstance(given, str) and given == "none"):
        return None if given is None else ()
    found = _names(given, "effects", where)
    for name in found:
        if name not in EFFECTS:
            raise GraphError(
                "tw.declare: unknown effect",
                where=where,
                expected=f'"none", or some of {", ".join(EFFECTS)}',
                found=shown(name),
                hint=did_you_mean(name, EFFECTS),
            )
    return found
