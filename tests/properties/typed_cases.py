"""Random cases over all attribute types: as `strategies.py`, with the functions of `typed.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import thalweg as tw
from tests.properties import typed as pool
from tests.properties.strategies import SLIDES, Case, Node, kernel_window, plan_choices
from tests.properties.typed import BERLIN, NAMES, Rich
from thalweg import window
from thalweg.engine.storage.json_lines import to_json

MAX_NODES = 7
MAX_COPIES = 8
KEYS = (
    *((), ("k",), ("k",), ("k",), ("o",), ("w",), ("e",), ("d",), ("z",), ("v",), ("p",)),
    *(("k", "n"), ("d", "w", "p"), ("e", "v")),
)
MAPS = pool.MAPS | pool.FAILING_MAPS


@dataclass(frozen=True, repr=False)
class TypedCase(Case):
    def app(self, folder: Path) -> tw.App:
        return _Builder(self, folder).build()

    def write(self, folder: Path) -> None:
        """JSON lines: they hold zones, NaN and every digit."""
        for source, files in enumerate(self.inputs):
            (folder / f"in{source}").mkdir(parents=True, exist_ok=True)
            for number, rows in enumerate(files):
                lines = (json.dumps(_as_json(row)) + "\n" for row in rows)
                (folder / f"in{source}" / f"{number:03d}.jsonl").write_text("".join(lines))


def _as_json(row: tuple[Any, ...]) -> dict[str, Any]:
    return {n: to_json(v, kind) for (n, kind), v in zip(Rich.tuple_type.attributes, row, strict=True)}


class _Builder:
    def __init__(self, case: TypedCase, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.app = tw.App("typed")
        self.streams: list[tw.Stream] = []

    def build(self) -> tw.App:
        used: set[int] = set()
        for number, node in enumerate(self.case.nodes):
            self.streams += self._make(f"{node.kind}{number}", node, [self.streams[i] for i in node.inputs])
            used.update(node.inputs)
        for number, stream in enumerate(self.streams):
            if number not in used:
                stream.sink(tw.collect(), name=f"out{number}")
        return self.app

    def _make(self, name: str, node: Node, inputs: list[tw.Stream]) -> Iterable[tw.Stream]:
        match node.kind, node.arguments:
            case "source", (number,):
                return [self.app.source(tw.files(self.folder / f"in{number}", format="jsonl"), Rich, name=name)]
            case "map", (function,):
                into = None if function in pool.COPIES and len(name) % 2 else Rich
                return [inputs[0].map(MAPS[function], into, name=name)]
            case "filter", (function,):
                return [inputs[0].filter(pool.PREDICATES[function], name=name)]
            case "flat_map", (function,):
                return [inputs[0].flat_map(pool.FLAT_MAPS[function], Rich, name=name)]
            case "map_batches", (function, on_error):
                library, batch = pool.BATCHES[function]
                return [inputs[0].map_batches(batch, Rich, library=library, on_error=on_error, name=name)]
            case "split", (function,):
                return inputs[0].split(pool.SPLITS[function], 3, name=name)
            case "union", ():
                return [inputs[0].union(*inputs[1:], name=name)]
            case "dedup", (by,):
                return [inputs[0].dedup(by, name=name)]
            case "aggregate", (size, slide, by, fields, policy):
                chosen: dict[str, Any] = {field: pool.AGGREGATES[a] for field, a in fields}
                over = kernel_window(size, slide, by)
                return [inputs[0].aggregate(over, name=name, on_error=policy, **chosen)]
            case "timed", ((size, slide, lateness), by, fields):
                timed = inputs[0]
                if not (timed.at_ends and timed.time == "w"):  # the results of windows have an event time
                    timed = timed.event_time("w", lateness=timedelta(hours=lateness), name=f"{name}.time")
                over = window.sliding(time=timedelta(hours=size), slide=timedelta(hours=slide), by=by, on="w")
                chosen = {field: pool.AGGREGATES[a] for field, a in fields}
                # A bound outside the range of datetimes fails its window.
                made = timed.aggregate(over, name=name, on_error="skip", **chosen)
                return [made, made.late]
            case "join", (kind,):
                join = pool.JOINS[kind]
                right = inputs[1].map(join.right, name=f"{name}.right")
                joined = inputs[0].join(right, window.last(1), on=join.on, name=name)
                return [joined.map(join.back, Rich, name=f"{name}.back")]
        raise AssertionError(node)


# Strategies

_ZONE = timezone(timedelta(hours=2))
_CALM: tuple[tuple[Any, ...], ...] = (
    ("a", "a", "b", None),
    (0, 1, 2, 3, -1),
    (None, 0, 1, 7),
    (datetime(2024, 1, 1), datetime(2024, 1, 1, 12), datetime(2024, 2, 29, 1, 2, 3, 4)),
    (None, date(2024, 1, 1), date(2024, 2, 29)),
    tuple(map(Decimal, ("1", "1.0", "1.00", "2.5", "-0.1", "0", "-0"))),
    (b"", b"a", b"ab"),
    ((), (1,), (1, 2), (None,)),
    ((0.5, ()), (1.5, ("a",)), (0.0, ()), (-0.0, ())),
)
_ZONED = (
    *(datetime(2024, 3, 31, hour, 30, tzinfo=BERLIN) for hour in (1, 3, 14)),
    *(datetime(2024, 3, 30, hour, tzinfo=BERLIN) for hour in (3, 22)),
    *(datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2024, 3, 31, 5, tzinfo=_ZONE)),
)
_NASTY: tuple[tuple[Any, ...], ...] = (
    (None, "", "None", "\0", "é", "e\u0301"),
    _CALM[1],
    (None, 2**63 - 1, -(2**63), 0),
    (
        *(datetime.min, datetime.max, datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 2, tzinfo=_ZONE)),
        *(datetime.min.replace(tzinfo=_ZONE), datetime.max.replace(tzinfo=UTC), datetime(2024, 1, 1)),
    ),
    (None, date.min, date.max),
    tuple(map(Decimal, ("NaN", "-NaN", "Infinity", "0E+9", "1E+400", "1E-400", "9" * 45, "1." + "3" * 40))),
    (b"", b"\0", b"\0\0", b"\xff" * 9),
    ((), (None,), (None, None), (0,), (2**63 - 1, -(2**63))),
    ((float("nan"), ()), (float("inf"), ("",)), (-0.0, ("", "")), (0.0, ("a", "b")), (0.0, ("ab",))),
)


@st.composite
def typed_files(draw: DrawFn) -> tuple[tuple[Any, ...], ...]:
    """Files of one source: each byte picks a value, and a bit per attribute decides whether it is an unusual one."""
    nasty = draw(st.integers(0, 2 ** len(NAMES) - 1))
    values = [(_NASTY if nasty >> i & 1 else _CALM)[i] for i in range(len(NAMES))]
    if draw(st.booleans()):
        values[NAMES.index("w")] = _ZONED  # around a change of the clocks
    count = draw(st.sampled_from((1, 4, 8, 12, 16, 24)))
    data = draw(st.binary(min_size=count * len(NAMES), max_size=count * len(NAMES)))
    rows = [
        tuple(v[byte % len(v)] for v, byte in zip(values, data[start : start + len(NAMES)], strict=True))
        for start in range(0, len(data), len(NAMES))
    ]
    cut = draw(st.integers(0, count))
    return tuple(rows[:cut]), tuple(rows[cut:])


def _stream(draw: DrawFn, copies: list[int]) -> int:
    return len(copies) - 1 - min(draw(st.sampled_from((0, 0, 0, 1, 1, 2, 3))), len(copies) - 1)


_KINDS = (
    *("map", "map", "filter", "flat_map", "split", "union", *["aggregate"] * 3, "join", "join"),
    *("map_batches", "dedup", "timed", "timed"),
)
# In hours: the size of a window in event time, its slide, and the lateness. Times of calm input are two months apart.
_SPANS = ((12, 12, 0), (24, 24, 2000), (36, 8, 0), (36, 8, 2000), (2000, 700, 2000), (2, 1, 1))


def _node(draw: DrawFn, copies: list[int], failing: bool) -> tuple[Node, list[int]]:
    kind = draw(st.sampled_from(_KINDS))
    source = _stream(draw, copies)
    bad = failing and draw(st.booleans())
    match kind:
        case "flat_map" if copies[source] * 2 <= MAX_COPIES:
            return Node(kind, (source,), (draw(st.sampled_from(tuple(pool.FLAT_MAPS))),)), [copies[source] * 2]
        case "split":
            return Node(kind, (source,), (draw(st.sampled_from(tuple(pool.SPLITS))),)), [copies[source]] * 3
        case "union" if copies[source] + copies[other := _stream(draw, copies)] <= MAX_COPIES:
            return Node(kind, (source, other)), [copies[source] + copies[other]]
        case "aggregate":
            return _aggregate(draw, source, bad), [copies[source]]
        case "timed":
            return _timed(draw, source), [copies[source]] * 2
        case "join":
            right = _stream(draw, copies)
            return Node(kind, (source, right), (draw(st.sampled_from(tuple(pool.JOINS))),)), [copies[source]]
        case "dedup":
            return Node(kind, (source,), (draw(st.sampled_from([key for key in KEYS if key])),)), [copies[source]]
        case "map_batches":
            arguments = draw(st.sampled_from(tuple(pool.BATCHES))), "fail" if bad else "skip"
            return Node(kind, (source,), arguments), [copies[source]]
        case "filter":
            return Node(kind, (source,), (draw(st.sampled_from(tuple(pool.PREDICATES))),)), [copies[source]]
    names = tuple(pool.FAILING_MAPS if bad else pool.MAPS)
    return Node("map", (source,), (draw(st.sampled_from(names)),)), [copies[source]]


def _aggregate(draw: DrawFn, source: int, bad: bool) -> Node:
    by = draw(st.sampled_from(KEYS))
    size, slide = draw(st.integers(0, 5)), draw(st.sampled_from(SLIDES))
    kept = draw(st.booleans())  # keep the key, so that the next stage may be the same one
    only_picks = not bad and draw(st.booleans())  # then the kernel does it
    fields = []
    for name in NAMES:
        picks = [f"{kind}_{name}" for kind in ("first", "last", "any")]
        folds = () if only_picks else (pool.FAILING if bad else pool.SAFE).get(name, ())
        pick = draw(st.sampled_from([*picks, *folds, *folds]))
        fields.append((name, f"any_{name}" if kept and name in by else pick))
    policy = draw(st.sampled_from(("fail", "skip"))) if bad else "fail"
    return Node("aggregate", (source,), (size, slide, by, tuple(fields), policy))


def _timed(draw: DrawFn, source: int) -> Node:
    """An aggregate over windows in event time, whose zone may differ from tuple to tuple."""
    fields = []
    for name in NAMES:
        picks = [f"{kind}_{name}" for kind in ("first", "last", "any")]
        more = pool.TIMED.get(name) or pool.SAFE.get(name, ())
        fields.append((name, draw(st.sampled_from([*picks, *more]))))
    return Node("timed", (source,), (draw(st.sampled_from(_SPANS)), draw(st.sampled_from(KEYS)), tuple(fields)))


@st.composite
def typed_cases(draw: DrawFn, *, failing: bool = False) -> TypedCase:
    sources = draw(st.integers(1, 2))
    made, copies = [Node("source", (), (number,)) for number in range(sources)], [1] * sources
    for _ in range(draw(st.integers(1, MAX_NODES))):
        node, streams = _node(draw, copies, failing)
        made.append(node)
        copies += streams
        if node.kind == "timed" and draw(st.booleans()):  # a second window over its results
            made.append(_timed(draw, len(copies) - 2))
            copies += streams
    inputs = tuple(draw(typed_files()) for _ in range(sources))
    max_tuples = draw(st.sampled_from((1_000_000, 7, 3, 12, 1, 5)))
    return TypedCase(tuple(made), inputs, max_tuples, draw(plan_choices()))
