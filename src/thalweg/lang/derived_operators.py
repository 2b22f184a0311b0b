"""The derived operators, implemented in Python in `thalweg.library`. They are methods of `tw.Stream`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any

from thalweg.errors import GraphError, described, did_you_mean, shown
from thalweg.ir.arguments import CHECKED_INSIDE, Count, Rule, called, checked, takes
from thalweg.ir.canonical_form import canonical
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Policy
from thalweg.ir.types import FLOAT, INT, TupleType, conform
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.ir.windows import Window
from thalweg.lang.aggregates import apply_logic, check_window
from thalweg.lang.operator_methods import check_methods
from thalweg.lang.state_functions import changes_in_place, check_predicate
from thalweg.lang.tuples import Tuple
from thalweg.lang.type_classes import check_distance, check_ordered, check_subtracted
from thalweg.lang.window import Distance, Names, names
from thalweg.library.multi_port import Barrier, MeetConfig, MergeOrdered, Pair
from thalweg.library.select import Code, Dedup, DedupConfig, StateFunction
from thalweg.library.sorting import Skyline, SortBy, SortedBuffer, TopK
from thalweg.library.window_arguments import Duration, distance_of, length_of_time
from thalweg.library.window_join import Band, JoinConfig, Lookup, LookupConfig, Side, TimedWindowJoin, WindowJoin, both
from thalweg.library.windows.of_joins import Last, Within

if TYPE_CHECKING:
    from thalweg.lang.app import Stream

Flags = Annotated[bool | Sequence[bool], CHECKED_INSIDE]


@checked
def apply(
    stream: Stream,
    window: Window,
    function: Annotated[Callable[[list[Any]], Iterable[Any]], Rule("a function of a list of tuples")],
    into: type[Tuple] | None = None,
    *,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """Apply a function to the list of a window's tuples; it returns tuples. It is called when a tumbling window closes,
    and at every slide of a sliding window. Without `into` the results have the type of the stream."""
    return _applied(stream, "apply", window, function, into, on_error, name)


@checked
def sort(
    stream: Stream,
    by: Names,
    *,
    window: Window | None = None,
    buffer: Count | None = None,
    descending: Flags = False,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """The tuples of each window, sorted by attributes; or, with `buffer`, those of the entire stream, provided that no
    tuple is more than that many tuples out of place. Equal tuples keep their order. `descending` may be a list with a
    value for each attribute."""
    site = stream._site("sort", name)
    attributes = _ordered(stream, by, site, "sort")
    order = SortBy(attributes, _flags(descending, attributes, site, "sort: bad descending"))
    if (window is None) == (buffer is None):
        found = "both" if window is not None else "neither"
        raise GraphError(
            "sort: needs a window or a buffer", where=site.where, expected="window=… or buffer=…", found=found
        )
    if window is not None:
        return _applied(stream, "sort", window, order, None, on_error, name)
    assert buffer is not None
    logic = SortedBuffer()
    logic.config = (buffer, order)
    return site.process("sort", logic, [stream], by=[()], outputs=[stream.tuple_type], on_error=on_error)[0]


@checked
def top_k(
    stream: Stream,
    k: Count,
    by: Names,
    *,
    window: Window,
    least: Flags = False,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """The k tuples of each window with the greatest (or least) attributes, best first; of equals, the older first.
    `least` may be a list with a value for each attribute."""
    site = stream._site("top_k", name)
    attributes = _ordered(stream, by, site, "top_k")
    order = SortBy(attributes, tuple(not flag for flag in _flags(least, attributes, site, "top_k: bad least")))
    return _applied(stream, "top_k", window, TopK(k, order), None, on_error, name)


@checked
def skyline(
    stream: Stream,
    *,
    window: Window,
    most: Names = None,
    least: Names = None,
    name: str | None = None,
) -> Stream:
    """The tuples of each window that no other dominates: at least as good in all of these attributes, better in one."""
    site = stream._site("skyline", name)
    signs = [(n, 1) for n in names(most)] + [(n, -1) for n in names(least)]
    _attributes(stream, [n for n, _ in signs], site, "skyline")  # none in both, which would contradict each other
    for attribute, _ in signs:
        if (kind := stream.tuple_type.get(attribute)) not in (INT, FLOAT):
            raise GraphError(
                f"skyline: {attribute} is not a number", where=site.where, expected="int or float", found=str(kind)
            )
    return _applied(stream, "skyline", window, Skyline(tuple(signs)), None, "fail", name)


@checked
def dedup(stream: Stream, by: Names, *, within: Duration | None = None, name: str | None = None) -> Stream:
    """The first tuple of each key; with `within`, also the first that is more than that much event time later. Then
    keys are forgotten as event time advances, and a tuple whose time has passed is late."""
    site = stream._site("dedup", name)
    key = _attributes(stream, by, site, "dedup")
    logic = Dedup()
    time = "" if within is None else site.time_attribute(stream)
    if within is None:
        logic.config = DedupConfig(None, time)
        return site.process("dedup", logic, [stream], by=[key], outputs=[stream.tuple_type])[0]
    site.check_time(stream, time, isinstance(within, dt.timedelta))
    logic.config = DedupConfig(length_of_time("dedup: bad within", within, least=0, where=site.where), time)
    outputs = [stream.tuple_type] * 2
    first, late = site.process("dedup", logic, [stream], by=[key], outputs=outputs, marks=stream.marks, timed=True)
    return first.with_late(late)


def windowed_join(
    stream: Stream,
    other: Stream,
    theirs: Last | Within,
    *,
    mine: Last | Within | None,
    on: tuple[tuple[str, ...], tuple[str, ...]],
    where: Callable[[Any, Any], Any] | None,
    band: tuple[str, Distance] | tuple[str, str, Distance] | None,
    on_error: str,
    name: str | None,
) -> Stream:
    """The general join; `Stream.join` is its public interface."""
    site = stream._site("join", name)
    if where is not None:
        check_predicate(where, site.where)
        where = site.freezer.freeze(where)
    if band is not None:
        if not (isinstance(band, tuple) and len(band) in (2, 3) and not isinstance(band[-1], str)):
            raise GraphError(
                "join: bad band",
                where=site.where,
                expected="(attribute, distance) or (attribute, the other side's attribute, distance)",
                found=shown(band),
            )
        left, *right, distance = band
        chosen = Band(str(left), str(right[0]) if right else str(left), distance)
        _attributes(stream, [chosen.left], site, "join")
        _attributes(other, [chosen.right], site, "join")
        kinds = stream.tuple_type.kind(chosen.left), other.tuple_type.kind(chosen.right)
        for attribute, kind in zip((chosen.left, chosen.right), kinds, strict=True):
            check_distance("a band", attribute, kind, distance, site.where)
        check_subtracted("a band", *kinds, site.where)
        distance_of("join: bad band", distance, site.where)
        where = chosen if where is None else both(chosen, where)
    within = theirs.size if isinstance(theirs, Within) else mine.size if isinstance(mine, Within) else None
    timed = within is not None
    if isinstance(theirs, Within) and isinstance(mine, Within) and theirs != mine:
        raise GraphError(
            "a join within two different times",
            where=site.where,
            expected="the same time on both sides: the maximum between the tuples of a pair",
            found=f"{theirs.size} and {mine.size}",
        )
    for side in (theirs, mine):
        if isinstance(side, Within):
            site.check_time(stream, site.time_attribute(stream), side.clock)
            site.check_time(other, site.time_attribute(other), side.clock)
    counts = [w.count if isinstance(w, Last) else None for w in (mine if mine is not None else Last(0, ()), theirs)]
    output = joined_type(site.name, stream.tuple_type, other.tuple_type, on, site)
    theirs_names = tuple(n for n in output.names if n not in stream.tuple_type.names)
    sides = (
        Side(stream.tuple_type.names, counts[0], site.time_attribute(stream) if timed else ""),
        Side(theirs_names, counts[1], site.time_attribute(other) if timed else ""),
    )
    logic = TimedWindowJoin() if timed else WindowJoin()
    logic.config = JoinConfig(sides, within, where, late=timed)
    outputs = [output, stream.tuple_type, other.tuple_type] if timed else [output]
    marks = site.marks_of([stream, other]) if timed else None
    made = site.process(
        "join", logic, [stream, other], by=list(on), outputs=outputs, marks=marks, timed=timed, on_error=on_error
    )
    if not timed:
        return made[0]
    late_other = replace(made[2], time=other.time, at_ends=other.at_ends)
    return made[0].with_late(made[1], late_other)


@checked
def lookup(
    stream: Stream,
    table: Iterable[Tuple],
    row_type: type[Tuple],
    *,
    on: Names,
    missing: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Stream:
    """Join each tuple with the rows of a fixed table that have its key. A tuple without such a row is dropped, or gets
    the values of `missing`. The table is read when the graph is built: a list, or any other iterable of rows."""
    site = stream._site("lookup", name)
    key = _attributes(stream, on, site, "lookup")
    right = site.declared(row_type)
    for attribute in key:
        if right.get(attribute) is None:
            raise GraphError(
                f"lookup: {right.name} does not have {attribute}",
                where=site.where,
                expected="the names of the key in both: the stream and the rows of the table",
                found=f"{right.name} with {', '.join(right.names)}",
                hint=did_you_mean(attribute, right.names) or f"rename it in {right.name}, or in a .map() before",
            )
    output = joined_type(site.name, stream.tuple_type, right, (key, key), site)
    added = [n for n in right.names if n not in key]
    if missing is not None:
        _check_missing(missing, added, right, site)
    if isinstance(table, set | frozenset):  # its order differs from process to process
        raise GraphError(
            "lookup: a set has no order", where=site.where, expected="a list of rows", found=described(table)
        )
    rows: dict[bytes, list[dict[str, Any]]] = {}
    for row in table:
        if not isinstance(row, row_type):
            raise GraphError(
                "lookup: the table has an invalid row",
                where=site.where,
                expected=str(right),
                found=described(row),
            )
        own = b"".join([canonical(_of_table(row, n, right, site)) for n in key])
        rows.setdefault(own, []).append({n: _of_table(row, n, right, site) for n in added})
    logic, freezer = Lookup(), site.freezer
    held = freezer.copied(rows, "the table"), stream.tuple_type.names, freezer.copied(missing, "missing")
    logic.config = LookupConfig(key, *held)
    return site.process("lookup", logic, [stream], by=None, outputs=[output])[0]


@checked
def merge_ordered(
    stream: Stream, *others: Stream, on: str, on_error: Policy = "fail", name: str | None = None
) -> Stream:
    """Merge streams that are sorted by an attribute into one sorted stream; of equal tuples, the earlier port first."""
    site = stream._site("merge_ordered", name)
    ports = _same_types(stream, others, site)
    _ordered(stream, on, site, "merge_ordered")
    logic = MergeOrdered(len(ports))
    logic.config = MeetConfig(len(ports), on)
    by: list[tuple[str, ...]] = [()] * len(ports)
    return site.meeting("merge_ordered", logic, ports, by, stream.tuple_type, on_error)


@checked
def barrier(stream: Stream, *others: Stream, by: Names = None, name: str | None = None) -> Stream:
    """Combine one tuple of each stream into one tuple, as soon as each has one (of the same key, with `by`)."""
    site = stream._site("barrier", name)
    ports = [stream, *others]
    for other in others:
        stream._same_app(other, site)
    key = _keys(ports, by, site)
    output, taken = stream.tuple_type, [stream.tuple_type.names]
    for other in others:
        joined = joined_type(site.name, output, other.tuple_type, (key[0], key[0]), site, "barrier")
        taken.append(tuple(n for n in joined.names if n not in output.names))
        output = joined
    logic = Barrier(len(ports))
    logic.config = MeetConfig(len(ports), names=tuple(taken))
    return site.meeting("barrier", logic, ports, key, output)


@checked
def pair(stream: Stream, *others: Stream, by: Names = None, name: str | None = None) -> Stream:
    """Emit one tuple of each stream, in sequence, as soon as each has one (of the same key, with `by`)."""
    site = stream._site("pair", name)
    ports = _same_types(stream, others, site)
    key = _keys(ports, by, site)
    logic = Pair(len(ports))
    logic.config = MeetConfig(len(ports))
    return site.meeting("pair", logic, ports, key, stream.tuple_type)


@checked
def custom(
    stream: Stream,
    code: Logic | Callable[[Any, Any, Callable[..., None]], Any],
    into: type[Tuple],
    *,
    by: Names = None,
    state: Any = None,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """User code with state: an instance of a subclass of `tw.Operator`, or a function of a tuple, the key's state and
    `submit`. The function returns the new state, or None to remove it; or it never returns a value and changes the
    state in place. Without `by` there is one state for all tuples."""
    site = stream._site("custom", name)
    key = _keys([stream], by, site)
    _no_class(code, site)
    if isinstance(code, Logic):
        check_methods(code, site.where)
        if state is not None:
            raise GraphError(
                "custom: state has no meaning here",
                where=site.where,
                expected="state= only with a function",
                found=f"state={shown(state)}",
                hint=f"the state of {type(code).__qualname__} is its attributes: set them in __init__",
            )
        logic = site.freezer.freeze_operator(code)
    elif not callable(code) or not takes(code, ["tuple", "state", "submit"]):
        expected = f"a function of a tuple, the state and submit, or {_AN_OPERATOR}"
        raise GraphError("custom: not a valid operator", where=site.where, expected=expected, found=called(code))
    else:
        if isinstance(state, type | FunctionType):
            raise GraphError(
                "custom: bad state",
                where=site.where,
                expected="the initial state of a key, which is copied for each key",
                found=described(state),
                hint=f"state={state.__name__}()" if isinstance(state, type) else "the result of the function",
            )
        logic = site.freezer.freeze_operator(Code(state))
        logic.config = StateFunction(site.freezer.freeze(code), changes_in_place(code, state, site.where))
    output = site.declared(into)
    marks = None if stream.marks is None else stream.marks
    made = site.process(
        "custom", logic, [stream], by=key, outputs=[output], marks=marks, timed=stream.timed, on_error=on_error
    )
    return made[0]


@checked
def operator(
    code: Logic,
    *streams: Stream,
    into: type[Tuple] | Iterable[type[Tuple]],
    by: Names = None,
    on_error: Policy = "fail",
    name: str | None = None,
) -> tuple[Stream, ...]:
    """An instance of a subclass of `tw.Operator` with several input and output ports."""
    if not streams or not hasattr(streams[0], "_site"):
        raise GraphError(
            "tw.operator: no input",
            where=call_place(user_frame()),
            expected="one stream or more",
            found=described(streams[0]) if streams else "none",
        )
    site = streams[0]._site("operator", name)
    _no_class(code, site)
    if not isinstance(code, Logic):
        raise GraphError("tw.operator: not an operator", where=site.where, expected=_AN_OPERATOR, found=described(code))
    check_methods(code, site.where)
    for other in streams[1:]:
        streams[0]._same_app(other, site)
    key = _keys(streams, by, site)
    types = [into] if isinstance(into, type) or not isinstance(into, Iterable) else list(into)
    outputs = [site.declared(t) for t in types]
    if not outputs:
        raise GraphError("tw.operator: no output", where=site.where, expected="into=Type, or several", found="none")
    marks = site.marks_of(list(streams))
    made = site.process(
        "operator",
        site.freezer.freeze_operator(code),
        list(streams),
        by=key,
        outputs=outputs,
        marks=marks,
        timed=marks is not None and streams[0].timed,
        on_error=on_error,
    )
    return tuple(made[: len(outputs)])


def joined_type(
    name: str,
    left: TupleType,
    right: TupleType,
    on: tuple[tuple[str, ...], tuple[str, ...]],
    site: Any,
    word: str = "join",
) -> TupleType:
    """The attributes of both sides, those of the key once."""
    mine, theirs = on
    for a, b in zip(mine, theirs, strict=True):
        if left.get(a) != right.get(b):
            raise GraphError(
                f"the sides of the {word} have different types for {a}",
                where=site.where,
                expected=f"{left.get(a)}, as on the first side",
                found=str(right.get(b)),
            )
    added = tuple((n, t) for n, t in right.attributes if not (n in theirs and n in mine))
    twice = [n for n, _ in added if n in left.names]
    if twice:
        raise GraphError(
            f"both sides of the {word} have {', '.join(twice)}",
            where=site.where,
            expected="different names, except for the key",
            hint=f"rename them in a .map() before the {word}, or leave them out",
        )
    return TupleType(name, left.attributes + added)


_AN_OPERATOR = "an instance of a subclass of tw.Operator"


def _of_table(row: Tuple, name: str, row_type: TupleType, site: Any) -> Any:
    """An attribute of a row of a lookup's table, as its declared type."""
    try:
        return conform(getattr(row, name), row_type.kind(name))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(
            f"lookup: a bad {name} in the table: {error}", where=site.where, expected=str(row_type), found=shown(row)
        ) from None


def _check_missing(missing: Mapping[str, Any], added: list[str], row: TupleType, site: Any) -> None:
    expected = ", ".join(f"{name}: {row.kind(name)}" for name in added)
    for name in dict.fromkeys((*missing, *added)):
        found = f"{name}={described(missing[name])}" if name in missing else f"no {name}"
        try:
            if name not in missing or name not in added:
                raise TypeError
            conform(missing[name], row.kind(name))
        except (TypeError, ValueError, OverflowError):
            absent = name in added and name in missing and missing[name] is None
            hint = f"declare it as `{name}: {row.kind(name)} | None`" if absent else None
            raise GraphError(
                "lookup: bad values for missing rows", where=site.where, expected=expected, found=found, hint=hint
            ) from None


def _no_class(code: object, site: Any) -> None:
    """A class is callable too: without this check it would be treated as a function, and fail on the first tuple."""
    if isinstance(code, type) and issubclass(code, Logic):
        hint = f"{code.__name__}(…)"
        raise GraphError("a class instead of an instance", where=site.where, expected=_AN_OPERATOR, hint=hint)


def _applied(
    stream: Stream,
    word: str,
    window: Window,
    function: Callable[[list[Any]], Iterable[Any]],
    into: type[Tuple] | None,
    on_error: str,
    name: str | None,
) -> Stream:
    site = stream._site(word, name)
    check_window(window, word, site.where)
    over = site.window(stream, window)
    output = stream.tuple_type if into is None else site.declared(into)
    return site.windowed(stream, word, over, apply_logic(over, site.freezer.freeze(function)), output, on_error)


def _attributes(stream: Stream, by: Names, site: Any, word: str) -> tuple[str, ...]:
    found = names(by)
    if not found:
        raise GraphError(f"{word}: no attribute is given", where=site.where, expected="one attribute or more")
    stream._check_attributes(found, site)
    return found


def _keys(streams: Iterable[Stream], by: Names, site: Any) -> list[tuple[str, ...]]:
    """The key of each port; without `by` there is one state for all tuples."""
    key = names(by)
    for stream in streams:
        stream._check_attributes(key, site)
    return [key for _ in streams]


def _ordered(stream: Stream, by: Names, site: Any, word: str) -> tuple[str, ...]:
    found = _attributes(stream, by, site, word)
    check_ordered(word, stream.tuple_type, found, site.where)
    return found


def _flags(given: Flags, attributes: tuple[str, ...], site: Any, message: str) -> tuple[bool, ...]:
    """A flag for each attribute, given as one for all of them or as a list."""
    flags = (given,) * len(attributes) if isinstance(given, bool) else given
    if not isinstance(flags, list | tuple) or len(flags) != len(attributes) or {*map(type, flags)} != {bool}:
        several = f", or a list of them: one for each of {', '.join(attributes)}" if len(attributes) > 1 else ""
        raise GraphError(message, where=site.where, expected=f"True or False{several}", found=described(given))
    return tuple(flags)


def _same_types(stream: Stream, others: tuple[Stream, ...], site: Any) -> list[Stream]:
    for other in others:
        stream._same_app(other, site)
        if not stream.tuple_type.same_attributes(other.tuple_type):
            raise GraphError(
                "streams of different tuple types cannot be combined",
                where=site.where,
                expected=str(stream.tuple_type),
                found=str(other.tuple_type),
            )
    return [stream, *others]
