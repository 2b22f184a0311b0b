"""The user functions of random graphs over all attribute types.

They stand in a file of their own because Thalweg reads their source. All of them take a `Rich` tuple, and what they
return has `Rich`'s attributes again, so any operator can follow any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa

import thalweg as tw
from thalweg import agg

RowFunction = Callable[[Any], Any]
BERLIN = ZoneInfo("Europe/Berlin")


class Spot(tw.Tuple):
    x: float
    tags: list[str]

    def far(self) -> bool:
        return self.x > 0.5


class Rich(tw.Tuple):
    """`n` stays small. `w` is with and without a zone, `d` of all digits."""

    k: str | None
    n: int
    o: int | None
    w: datetime
    e: date | None
    d: Decimal
    z: bytes
    v: list[int | None]
    p: Spot

    def size(self) -> int:
        return len(self.z) + len(self.v)


NAMES = Rich.tuple_type.names


def rich(t: Any, **changed: Any) -> dict[str, Any]:
    return {name: getattr(t, name) for name in NAMES} | changed


# Predicates

PREDICATES: dict[str, RowFunction] = {
    "small": lambda t: t.n > 0,
    "missing": lambda t: t.o is None,
    "there": lambda t: t.e is not None,
    "truth_of_a_list": lambda t: t.v,
    "truth_of_an_optional": lambda t: t.k,
    "inside": lambda t: t.p.x > 0.25,
    "method_inside": lambda t: t.p.far(),
    "zoned": lambda t: t.w.tzinfo is not None,
    "bytes": lambda t: t.z >= b"a",
    "list_is": lambda t: t.v == [1, 2],
}

# Maps. The first ones are vectorized: they only copy values that are not numbers.

COPIES: dict[str, RowFunction] = {
    "copy": lambda t: {
        "n": t.n,
        "k": t.k,
        "o": t.o,
        "w": t.w,
        "e": t.e,
        "d": t.d,
        "z": t.z,
        "v": t.v,
        "p": t.p,
    },
    "built": lambda t: Rich(t.k, t.n, t.o, t.w, t.e, t.d, t.z, t.v, t.p),
    "counted": lambda t: Rich(n=(t.n + 1) % 5, k=t.k, o=t.o, w=t.w, e=t.e, d=t.d, z=t.z, v=t.v, p=t.p),
}


def later(t: Any) -> dict[str, Any]:
    when = t.w + timedelta(days=1) if t.w.year < 9000 else t.w
    return rich(t, w=when, e=when.date())


MAPS: dict[str, RowFunction] = COPIES | {
    "itself": lambda t: t,
    "int_for_more": lambda t: rich(t, o=t.n, p={"x": t.n, "tags": t.p.tags}),
    "nothing": lambda t: rich(t, k=None, o=None, e=None, v=[None], p=Spot(0, [])),
    "later": later,
    "clock_again": lambda t: rich(t, w=datetime(2024, 10, 27, 2, 30, fold=t.n % 2, tzinfo=BERLIN)),
    "instant": lambda t: rich(t, w=t.w.replace(tzinfo=UTC)),
    "other_zone": lambda t: rich(t, w=datetime(2024, 1, 1, tzinfo=UTC).astimezone(BERLIN if t.n % 2 else UTC)),
    "other_digits": lambda t: rich(t, d=t.d if not t.d.is_finite() else Decimal(f"{t.n}.{'0' * (abs(t.n) % 3)}")),
    "longer": lambda t: rich(t, z=t.z + b"\0", v=[*t.v, t.n][-3:], p=Spot(t.p.x / 2, [*t.p.tags, t.k or ""][-2:])),
    "plain_parts": lambda t: rich(t, v=tuple(t.v[::-1]), p=(t.p.x, ("a",))),
    "text_of_all": lambda t: rich(t, k=f"{t.w!r}{t.p!r}{t.v!r}"[:40]),
}

# Flat maps and splits


def spread(t: Any) -> Iterator[Any]:
    for value in t.v[:2]:
        yield rich(t, o=value, v=[value])


FLAT_MAPS: dict[str, RowFunction] = {
    "spread": spread,
    "twice": lambda t: (t, Rich(t.k, -t.n, None, t.w, t.e, -t.d, t.z, [t.o], t.p)),
    "if_there": lambda t: [] if t.o is None else [t],
}
SPLITS: dict[str, RowFunction] = {
    "modulo": lambda t: t.n % 3,
    "by_size": lambda t: t.size() % 3 if hasattr(t, "size") else len(t.z) % 3,
    "by_missing": lambda t: 0 if t.o is None else 1 if t.e is None else 2,
}

# Functions on batches, by their library. Where types are left to be inferred, they go by all rows of a batch.

BATCHES: dict[str, tuple[str, RowFunction]] = {
    "arrow": ("arrow", lambda table: table),
    "polars": ("polars", lambda frame: frame),
    "inferred_arrow": ("arrow", lambda table: pa.table(table.to_pydict())),
    "inferred_polars": ("polars", lambda frame: pl.DataFrame(frame.to_dict(as_series=False), strict=False)),
}

# Aggregates by the attribute that takes their result

PICKS = {f"{kind}_{name}": getattr(agg, kind)(name) for kind in ("first", "last", "any") for name in NAMES}
FOLDS: dict[str, agg.AggregateExpr] = {
    "count": agg.count(),
    "sum_n": agg.sum("n"),
    "sum_d": agg.sum("d"),
    "min_d": agg.min("d"),
    "max_d": agg.max("d"),
    "min_z": agg.min("z"),
    "max_z": agg.max("z"),
    "min_w": agg.min("w"),
    "max_w": agg.max("w"),
    "distinct_w": agg.distinct("w"),
    "argmin_w": agg.argmin("w", "o"),
    "argmax_w": agg.argmax("w", "o"),
    "start_w": agg.window_start(),
    "end_w": agg.window_end(),
    "collect_v": agg.collect("o"),
}
AGGREGATES = PICKS | FOLDS
SAFE = {"n": ("count", "sum_n", "distinct_w"), "d": ("sum_d",), "z": ("min_z", "max_z")}
TIMED = {"w": ("start_w", "end_w") * 3, "v": ("collect_v",) * 3}  # over windows in event time
# These fail for some tuples: a Decimal NaN, datetimes with and without a zone.
FAILING = {"d": ("min_d", "max_d"), "w": ("min_w", "max_w"), "o": ("argmin_w", "argmax_w")}

# Joins: how the right side is renamed, and how the joined tuple becomes a `Rich` again.


@dataclass(frozen=True)
class JoinKind:
    on: tuple[str, ...]
    right: RowFunction
    back: RowFunction


_WITH_RIGHT: RowFunction = lambda t: Rich(t.k, t.n, t.ro, t.rw, t.e, t.d, t.z, t.rv, t.rp)
_OPAQUE: RowFunction = lambda t: rich(t, o=t.ro, p=t.rp if t.rp.far() else t.p, v=[*t.rv, t.n] if t.n else t.rv)
_ALONE: RowFunction = lambda t: Rich(t.k, t.n, t.o, t.w, t.e, t.d, t.z, t.v, t.p)

JOINS: dict[str, JoinKind] = {
    "by_k": JoinKind(("k",), lambda t: {"k": t.k, "ro": t.o, "rw": t.w, "rv": t.v, "rp": t.p}, _WITH_RIGHT),
    "by_k_dead": JoinKind(("k",), lambda t: {"k": t.k, "ro": t.o, "rw": t.w, "rv": t.v, "rp": t.p}, _ALONE),
    "by_d": JoinKind(("d",), lambda t: {"d": t.d, "ro": t.o, "rv": t.v, "rp": t.p}, _OPAQUE),
    "by_w": JoinKind(("w",), lambda t: {"w": t.w, "ro": t.o, "rv": t.v, "rp": t.p}, _OPAQUE),
    "by_p_e": JoinKind(("p", "e"), lambda t: {"e": t.e, "p": t.p}, _ALONE),
    "by_v_n": JoinKind(("v", "n"), lambda t: {"n": t.n, "v": t.v, "ro": t.o}, lambda t: rich(t, o=t.ro)),
}

# Functions that fail for some tuples.


def wrong_inside(t: Any) -> dict[str, Any]:
    return rich(t, p=Spot(t.p.x, [*t.p.tags, t.n if t.n == 2 else "x"]))


def changes_its_input(t: Any) -> Any:
    if t.n == 3:
        t.v.append(1)
    return t


FAILING_MAPS: dict[str, RowFunction] = {
    "wrong_inside": wrong_inside,
    "changes_its_input": changes_its_input,
    "date_for_datetime": lambda t: rich(t, w=t.w.date() if t.n == 2 else t.w),
    "none_inside": lambda t: rich(t, v=[t.o], z=None if t.n == 3 else t.z),
    "int_for_decimal": lambda t: rich(t, d=1 if t.n == 2 else t.d),
    "missing_part": lambda t: rich(t, p={"x": 1.0} if t.n == 3 else t.p),
    "arithmetic": lambda t: rich(t, o=t.o + 1),
}
