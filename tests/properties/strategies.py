"""Random cases: a graph over all operators, an input log of nasty rows, and a plan.

A `Case` is plain data, so that a failing one prints as what it is and can be built again. `Case.app` builds the graph
through the public API, `Case.write` its files, `Case.epochs` the log, `Case.plan` the plan; the Spark tests use the
same four.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import thalweg as tw
from tests.properties import control, derived, folds, looped
from tests.properties import functions as pool
from tests.properties.functions import Base
from tests.split_spools import write_split_spool
from thalweg import agg, window
from thalweg.analysis.unused_state import settled
from thalweg.endpoints.spark_rows import SparkFormat
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.feeders import spool_items
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.errors import HintError
from thalweg.ir.endpoints import SourceEndpoint
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import DEFAULT_FRAME_ROWS, Plan
from thalweg.ir.types import BOOL, FLOAT, INT, STR
from thalweg.optimize.choose_degrees import asked_degrees, open_states
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held

Row = tuple[int, int, float, float, str, str, bool]
Files = tuple[tuple[Row, ...], ...]

SCHEMA = pa.schema(
    {"i": pa.int64(), "n": pa.int64(), "x": pa.float64(), "y": pa.float64()}
    | {"s": pa.string(), "k": pa.string(), "b": pa.bool_()}
)
MAX_NODES = 8
MAX_COPIES = 12  # how many copies of one source tuple a stream may carry: diamonds multiply
KEYS = ((), ("k",), ("k",), ("k",), ("n",), ("y",), ("b",), ("s",), ("i",), ("x",), ("k", "n"), ("y", "k", "b"))

MAPS = pool.ANALYZABLE_MAPS | pool.OPAQUE_MAPS | pool.FAILING_MAPS
PREDICATES = pool.ANALYZABLE_PREDICATES | pool.OPAQUE_PREDICATES | pool.FAILING_PREDICATES
FLAT_MAPS = pool.FLAT_MAPS | {f"failing_{n}": f for n, f in pool.FAILING_FLAT_MAPS.items()}
SPLITS = pool.SPLITS | {f"failing_{n}": f for n, f in pool.FAILING_SPLITS.items()}
# Aggregates that have kernels, by the type of their result.
INT_AGGREGATES = folds.aggregates(INT, kernel=True) | pool.INT_AGGREGATES
FLOAT_AGGREGATES = folds.aggregates(FLOAT, kernel=True) | pool.FLOAT_AGGREGATES
TEXT_AGGREGATES = folds.aggregates(STR, kernel=True) | pool.TEXT_AGGREGATES
FLAG_AGGREGATES = folds.aggregates(BOOL, kernel=True) | pool.FLAG_AGGREGATES
AGGREGATES: Mapping[str, agg.AggregateExpr] = (
    INT_AGGREGATES
    | FLOAT_AGGREGATES
    | TEXT_AGGREGATES
    | FLAG_AGGREGATES
    | {f"key_{n}": a for n, a in pool.KEY_AGGREGATES.items()}
    | {f"failing_{n}": a for n, a in (pool.FAILING_INT_AGGREGATES | pool.FAILING_FLOAT_AGGREGATES).items()}
)


@dataclass(frozen=True)
class Node:
    """One step of a recipe: what to do (`arguments`) with the streams of these numbers."""

    kind: str
    inputs: tuple[int, ...] = ()
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class PlanChoice:
    """How to plan whatever graph comes: numbers are taken modulo what the graph has."""

    fusion: str  # all, none, or one letter per operator: its group
    degrees: tuple[int, ...]
    more_buckets: int
    frame_rows: int
    through_bytes: bool  # send every frame through its encoded form, as Spark does
    rules: str = "thalweg"  # of parallel regions
    uniform: bool = False  # one degree for all regions, the first, as users ask for it; else one for each state
    control: tuple[tuple[int, str, int], ...] = ()  # the user's hints: (operator, kind, number)
    tables: tuple[int, ...] = ()  # the channels of buckets, over and over; none: no tables
    tables_differ: bool = False  # from operator to operator
    ports: tuple[int, ...] = ()  # operators with a threaded port, each of which begins a new segment
    bracketed: bool = False  # run the form of the code with brackets

    def tables_of(self, degrees: Mapping[str, int], buckets: int) -> dict[str, tuple[int, ...]]:
        if not self.tables:
            return {}
        shifts = {name: index if self.tables_differ else 0 for index, name in enumerate(degrees)}
        return {
            name: tuple(self.tables[(b + shifts[name]) % len(self.tables)] % degree for b in range(buckets))
            for name, degree in degrees.items()
        }


@dataclass(frozen=True)
class Case:
    nodes: tuple[Node, ...]
    inputs: tuple[Files, ...]  # per source, per file
    max_tuples: int
    choice: PlanChoice
    kinds: tuple[str, ...] = ("parquet",)  # per source

    def app(self, folder: Path) -> tw.App:
        return _Builder(self, folder).build()

    def write(self, folder: Path) -> None:
        """The input files; the name of a file gives its order."""
        for source, files in enumerate(self.inputs):
            (folder / f"in{source}").mkdir(parents=True, exist_ok=True)
            for number, rows in enumerate(files):
                columns = [pa.array(c, t) for c, t in zip(_transposed(rows), SCHEMA.types, strict=True)]
                table = pa.Table.from_arrays(columns, schema=SCHEMA)
                kind = "parquet" if self.kind(source) == "splits" else self.kind(source)
                if kind in WRITERS:
                    WRITERS[kind](table, folder / f"in{source}" / f"{number:03d}.{kind}")

    def kind(self, source: int) -> str:
        return self.kinds[source % len(self.kinds)]

    def endpoint(self, source: int, folder: Path) -> SourceEndpoint:
        rows = tuple(row for rows in self.inputs[source] for row in rows)
        match self.kind(source):
            case "iterable":
                return tw.iterable(pool.Yielding(rows))
            case "beacon" | "failing_beacon" as kind:
                return tw.beacon(pool.Lookup(rows, failing=kind == "failing_beacon"), count=len(rows))
            case "shards":
                return tw.beacon(pool.Lookup(rows), count=len(rows), shards=3)
            case "splits":
                here = str(folder / f"in{source}")
                return tw.spark("parquet", split_by=("k", "n"), path=here, maxFilesPerTrigger=1)
        return tw.files(folder / f"in{source}", format=self.kind(source))

    def epochs(self, graph: LogicalGraph, folder: Path, max_tuples: int | None = None) -> list[Epoch]:
        """The input log: cut until the final epoch."""
        spool_items(graph.sources, folder / "spool", rows_per_file=5)
        for source in graph.sources:
            if isinstance(endpoint := source.endpoint, SparkFormat):  # spooled here as Spark would, a file per batch
                files = sorted(Path(dict(endpoint.options)["path"]).iterdir())
                batches = [(pq.read_table(file), ()) for file in files]
                write_split_spool(source, folder / "spool", endpoint.split_by, batches)
        return cut_all(graph, max_tuples or self.max_tuples, folder / "spool")

    def with_ports(self, plan: Plan) -> Plan:
        """The plan with threaded ports: engines run its segments in one thread, and refuse it in a plan file."""
        names = [operator.name for operator in plan.graph.operators if operator.inputs]
        chosen = {names[number % len(names)] for number in self.choice.ports}
        return plan.decide({name: replace(plan.decisions[name], ports=(0,)) for name in chosen})

    def plan(self, graph: LogicalGraph, routes: Mapping[str, tuple[str, ...]] | None = None) -> Plan:
        hinted = replace(graph, hints=control.hints(graph, self.choice.control))
        try:
            return self._plan(hinted, routes)
        except HintError:  # the user may ask for a PE that cannot be
            return self._plan(replace(graph, hints={}), routes)

    def _plan(self, graph: LogicalGraph, routes: Mapping[str, tuple[str, ...]] | None) -> Plan:
        choice = self.choice
        known = settled(graph)
        asked, free = asked_degrees(known, choice.rules), open_states(known, choice.rules)
        degrees = {
            o.name: choice.degrees[index % len(choice.degrees)] if o.name in free else 1
            for index, o in enumerate(known.stateful)
            if o.name not in asked
        }
        fuse: str | dict[str, str] = choice.fusion
        if fuse not in ("all", "none"):
            fuse = {o.name: choice.fusion[i % len(choice.fusion)] for i, o in enumerate(graph.operators)}
        buckets = max([*choice.degrees, *(hint.degree or 1 for hint in graph.hints.values())]) + choice.more_buckets
        degree = choice.degrees[0] if choice.uniform else degrees
        return make_plan(
            graph,
            degree=degree,
            fuse=fuse,
            buckets=buckets,
            frame_rows=choice.frame_rows,
            rules=choice.rules,
            held=Held(routes=routes, tables=choice.tables_of(degrees, buckets)),
        )

    def __repr__(self) -> str:
        lines = ["Case(", "    ("]
        lines += [f"        {node!r}," for node in self.nodes]
        lines += ["    ),", "    ("]
        for files in self.inputs:
            lines += ["        (", *(f"            {_literal(rows)}," for rows in files), "        ),"]
        return "\n".join(
            [*lines, "    ),", f"    {self.max_tuples},", f"    {self.choice!r},", f"    {self.kinds!r},", ")"]
        )


def _write_jsonl(table: pa.Table, file: Path) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))


def _write_arrow(table: pa.Table, file: Path) -> None:
    with pa.ipc.new_file(str(file), table.schema) as out:
        out.write_table(table, max_chunksize=5)


WRITERS: Mapping[str, Callable[[pa.Table, Path], object]] = {
    "parquet": lambda table, file: pq.write_table(table, file, row_group_size=5),
    "csv": lambda table, file: pyarrow.csv.write_csv(table, file),
    "jsonl": _write_jsonl,
    "arrow": _write_arrow,
}
KINDS = ("parquet", "csv", "jsonl", "arrow", "beacon", "iterable", "shards", "splits")


def _literal(rows: Iterable[Row]) -> str:
    """Rows as Python text: `nan` and `inf` alone are not literals."""
    texts = [", ".join(_value(v) for v in row) for row in rows]
    return "(" + "".join(f"({text}), " for text in texts) + ")"


def _value(value: object) -> str:
    text = repr(value)
    return f'float("{text}")' if text in ("nan", "inf", "-inf") else text


def _transposed(rows: tuple[Row, ...]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) or [()] * len(SCHEMA)


class MemoryLog(InputLog):
    """An input log without a disk: thousands of cases need no fsync."""

    def __init__(self) -> None:
        super().__init__(Path("memory"))
        self.epochs: list[Epoch] = []

    def get(self, number: int) -> Epoch | None:
        return self.epochs[number] if number < len(self.epochs) else None

    def append(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def cut_all(graph: LogicalGraph, max_tuples: int, spools: Path | None = None) -> list[Epoch]:
    """Everything that is there, cut into epochs; the last one is the final epoch."""
    cutter = EpochCutter(graph.sources, MemoryLog(), max_tuples, spools)
    epochs = []
    while (epoch := cutter.next_epoch(closing=True)) is not None:
        epochs.append(epoch)
    return epochs


class _Builder:
    """From a recipe to an App; names tell kind and number of the node."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.app = tw.App("random")
        self.streams: list[tw.Stream] = []
        self.used: set[int] = set()
        self.sources = 0

    def build(self) -> tw.App:
        for number, node in enumerate(self.case.nodes):
            self.streams += self._make(f"{node.kind}{number}", node, [self.streams[i] for i in node.inputs])
            self.used.update(node.inputs)
        for number, stream in enumerate(self.streams):
            if number not in self.used:
                stream.sink(tw.collect(), name=f"out{number}")
        return self.app

    def _make(self, name: str, node: Node, inputs: list[tw.Stream]) -> Iterable[tw.Stream]:
        match node.kind, node.arguments:
            case "source", ():
                endpoint = self.case.endpoint(self.sources, self.folder)
                self.sources += 1
                return [self.app.source(endpoint, Base, name=name)]
            case "map", (function,):
                inferred = function in pool.ANALYZABLE_MAPS and function not in ("another_order", "int_for_float")
                into = None if inferred and len(name) % 2 else Base
                return [inputs[0].map(MAPS[function], into, name=name)]
            case "filter", (function,):
                return [inputs[0].filter(PREDICATES[function], name=name)]
            case "flat_map", (function,):
                return [inputs[0].flat_map(FLAT_MAPS[function], Base, name=name)]
            case "split", (function,):
                return inputs[0].split(SPLITS[function], 3, name=name)
            case "union", ():
                return [inputs[0].union(*inputs[1:], name=name)]
            case "aggregate", (size, slide, by, fields):
                chosen: dict[str, Any] = {field: AGGREGATES[a] for field, a in fields}
                return [inputs[0].aggregate(kernel_window(size, slide, by), name=name, **chosen)]
            case "join", (kind, aggregated):
                return [self._join(name, pool.JOINS[kind], aggregated, *inputs)]
            case "looped", (variant, limits):
                return looped.build(name, variant, limits, inputs[0])
            case "sink", ():
                inputs[0].sink(tw.collect(), name=name)
                return []
        return derived.build(name.replace(" ", "_"), node.kind, node.arguments, inputs)

    def _join(self, name: str, kind: pool.JoinKind, aggregated: bool, left: tw.Stream, right: tw.Stream) -> tw.Stream:
        if aggregated:
            fields: dict[str, Any] = {n: pool.KEY_AGGREGATES[n] for n in kind.on} | dict(pool.RIGHT_AGGREGATES)
            renamed = right.aggregate(window.running(by=kind.on), name=f"{name}.right", **fields)
        else:
            renamed = right.map(kind.right, name=f"{name}.right")
        joined = left.join(renamed, window.last(1, by=kind.on), on=kind.on, name=name)
        return joined.map(kind.back, Base, name=f"{name}.back")


SLIDES = (1, 1, 1, 2, 3, 0, 0)


def kernel_window(size: int, slide: int, by: tuple[str, ...]) -> Any:
    """A window that kernels can do. One without a size is running, one that does not slide is tumbling."""
    if size == 0:
        return window.running(by=by)
    return window.sliding(count=size, slide=slide, by=by) if slide else window.tumbling(count=size, by=by)


# Strategies

_INTS = (0, 1, -1, 2, 3, 10, -7, 5, 4, 100)
_NASTY_INTS = (0, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62, 1, -(2**63) + 1, 3037000500)
_SMALL = (0, 1, 2, 1, -1, 3, 4, -2)
_RARELY_ZERO = (1, 4, 5, 1, 4, 6, 1, 7, 0, 2, 3, -1)  # most failing functions fail at 0
_FLOATS = (0.5, 0.1, 0.2, 0.3, 1.25, -2.0, 1e16, -1e16, 1 / 3, 7.0)
_NASTY_FLOATS = (0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 2.0**53, -1.5)
_TEXTS = ("", "a", "b", "ab", "eight888", "nine99999")
_NASTY_TEXTS = ("", "\0", "a\0", "é", "e\u0301", "日本語のとても長い文字列", "\U0001f600", "nan", "a", " ")
_KEYS = ("a", "a", "a", "a", "b", "b", "c", "")


@st.composite
def input_files(draw: DrawFn, *, failing: bool = False) -> Files:
    """Files of one source. Each row is seven bytes, each byte picks a value: one draw for all rows."""
    nasty = draw(st.integers(0, 15))
    values: tuple[tuple[Any, ...], ...] = (
        _NASTY_INTS if nasty & 1 else _INTS,
        _RARELY_ZERO if failing else _SMALL,
        _NASTY_FLOATS if nasty & 2 else _FLOATS,
        _NASTY_FLOATS if nasty & 4 else _FLOATS[:4],
        _NASTY_TEXTS if nasty & 8 else _TEXTS,
        _KEYS,
        (False, True),
    )
    width = len(values)
    counts = (4, 8, 12, 16, 20, 26) if failing else (1, 0, 2, 3, 5, 8, 12, 16, 20, 26)
    count = draw(st.sampled_from(counts))
    data = draw(st.binary(min_size=width * count, max_size=width * count))
    picks = [data[start : start + width] for start in range(0, len(data), width)]
    rows: list[Any] = [tuple(v[byte % len(v)] for v, byte in zip(values, pick, strict=True)) for pick in picks]
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3, 5, 8, 0]), min_size=0, max_size=3))
    files = []
    for size in sizes:
        files.append(tuple(rows[:size]))
        rows = rows[size:]
    return (*files, tuple(rows))


@st.composite
def nodes(draw: DrawFn, *, sources: int, failing: bool = False) -> tuple[Node, ...]:
    """A recipe. Every stream carries `Base` tuples, so any node can follow any other."""
    made = [Node("source")]
    copies, roots = [1], [0]  # per stream; the streams of sources
    second = draw(st.integers(1, MAX_NODES)) if sources == 2 else -1
    for number in range(1, draw(st.integers(1, MAX_NODES)) + 1):
        pattern = draw(st.integers(0, 7))
        if sources == 2 and len(roots) == 1 and (number == second or pattern == 7):
            made.append(Node("source"))
            roots.append(len(copies))
            copies.append(1)
        if pattern > 4:
            match pattern:
                case 5:
                    more, streams = _same_key_again(draw, copies)
                case 6:
                    more, streams = _maps_and_filters(draw, copies, failing)
                case _:
                    more, streams = _chained_times(draw, copies, roots[-1])
            made += more
            copies += streams
            continue
        found = _derived(draw, copies, failing) if draw(st.integers(0, 9)) < 5 else None
        node, streams = found or _node(draw, copies, failing)
        made.append(node)
        copies += streams
    if sources == 2 and len(roots) == 1:
        made.append(Node("source"))
        copies.append(1)
        made.append(Node("union", (0, len(copies) - 1)))
        copies.append(2)
    return tuple(made)


def _derived(draw: DrawFn, copies: list[int], failing: bool) -> tuple[Node, list[int]] | None:
    """A node of one of the derived operators; None where it would multiply tuples too much."""
    kind = draw(st.sampled_from(derived.KINDS))
    arguments, streams = derived.draw_arguments(draw, kind, failing=failing)
    inputs = [_stream(draw, copies)]
    inputs += [_stream(draw, copies) for _ in range(derived.MORE_INPUTS.get(kind, 0))]
    if kind == "operator":
        inputs += [_stream(draw, copies) for _ in range(draw(st.integers(0, 1)))]
    carried = sum(copies[i] for i in inputs) * derived.FACTOR.get(kind, 1)
    if carried > MAX_COPIES:
        return None
    count = len(arguments[0]) if kind == "random split" else streams
    return Node(kind, tuple(inputs), arguments), [carried] * count


_KINDS = (
    *("map", "filter", "flat_map", "split", "union", "union"),
    *("aggregate", "aggregate", "aggregate", "join", "join", "sink", *["looped"] * 3),
)


def _node(draw: DrawFn, copies: list[int], failing: bool) -> tuple[Node, list[int]]:
    kind = draw(st.sampled_from(_KINDS))
    source = _stream(draw, copies)
    bad = failing and draw(st.integers(0, 2)) > 0
    match kind:
        case "flat_map" if copies[source] * 2 <= MAX_COPIES:
            names = tuple(n for n in FLAT_MAPS if n.startswith("failing_") == bad)
            return Node(kind, (source,), (draw(st.sampled_from(names)),)), [copies[source] * 2]
        case "split":
            names = tuple(n for n in SPLITS if n.startswith("failing_") == bad)
            return Node(kind, (source,), (draw(st.sampled_from(names)),)), [copies[source]] * 3
        case "union":
            others = [_stream(draw, copies) for _ in range(draw(st.integers(1, 2)))]
            together = copies[source] + sum(copies[o] for o in others)
            if together <= MAX_COPIES:
                return Node(kind, (source, *others)), [together]
        case "aggregate":
            return _aggregate(draw, source, bad), [copies[source]]
        case "join":
            right, aggregated = _stream(draw, copies), draw(st.booleans())
            name = draw(st.sampled_from(tuple(pool.JOINS)))
            return Node(kind, (source, right), (name, aggregated and name.startswith("by_k"))), [copies[source]]
        case "looped":
            variant, limits = draw(st.sampled_from(looped.VARIANTS)), draw(st.sampled_from(looped.LIMITS))
            return Node(kind, (source,), (variant, limits)), [copies[source]] * len(limits)
        case "sink":
            return Node(kind, (source,)), []
        case "map":
            good = pool.ANALYZABLE_MAPS, pool.ANALYZABLE_MAPS, pool.NARROW_MAPS, pool.OPAQUE_MAPS
            names = tuple(pool.FAILING_MAPS) if bad else tuple(n for table in good for n in table)
            return Node("map", (source,), (draw(st.sampled_from(names)),)), [copies[source]]
    predicates = pool.FAILING_PREDICATES if bad else pool.ANALYZABLE_PREDICATES | pool.OPAQUE_PREDICATES
    return Node("filter", (source,), (draw(st.sampled_from(tuple(predicates))),)), [copies[source]]


def _stream(draw: DrawFn, copies: list[int]) -> int:
    """A stream, rather a late one: graphs should be deep as well as wide."""
    return len(copies) - 1 - min(draw(st.sampled_from((0, 0, 0, 1, 1, 2, 3, 5))), len(copies) - 1)


def _maps_and_filters(draw: DrawFn, copies: list[int], failing: bool) -> tuple[list[Node], list[int]]:
    """A chain of readable maps and filters, which one PE runs as one kernel; some of it falls back."""
    source, first = _stream(draw, copies), len(copies)
    maps = pool.FAILING_MAPS if failing else pool.ANALYZABLE_MAPS
    tables = (("map", tuple(maps)), ("filter", tuple(pool.ANALYZABLE_PREDICATES)))
    made = []
    for number in range(draw(st.integers(2, 4))):
        kind, names = draw(st.sampled_from(tables))
        made.append(Node(kind, (first + number - 1 if number else source,), (draw(st.sampled_from(names)),)))
    return made, [copies[source]] * len(made)


def _same_key_again(draw: DrawFn, copies: list[int]) -> tuple[list[Node], list[int]]:
    """Two aggregates by one key, and between them a map or a union that keeps the key's channels or does not.

    The planner must decide correctly whether both may be in one stage; random graphs rarely test this.
    """
    source, other, first = _stream(draw, copies), _stream(draw, copies), len(copies)
    by = draw(st.sampled_from((("k",), ("n",), ("k", "n"), ("y",))))
    between = draw(st.sampled_from(("copy", "swap", "swap", "int_arithmetic", "negative", "union", "union")))
    together = copies[source] + copies[other]
    if between == "union" and together <= MAX_COPIES:
        middle, carried = Node("union", (first, other)), together
    else:
        middle, carried = Node("map", (first,), ("swap" if between == "union" else between,)), copies[source]
    made = [_aggregate(draw, source, False, by), middle, _aggregate(draw, first + 1, False, by)]
    return made, [copies[source], carried, carried]


def _chained_times(draw: DrawFn, copies: list[int], other: int) -> tuple[list[Node], list[int]]:
    """Event time after or before a union of two streams, with a map between; then a window by time, and one more over
    its results. One of the streams passes few tuples, so that it is idle at times, or has a loop."""
    one, first = _stream(draw, copies), len(copies)
    looped = draw(st.integers(0, 4)) == 0
    own = copies[one] * (derived.FACTOR["loop"] if looped else 1)
    together = own + copies[other]
    if together > MAX_COPIES:
        return [Node("event_time", (one,), (1, 1))], [copies[one]]
    if looped:
        made = [Node("loop", (one,), ((), False))]
    else:
        made = [Node("filter", (one,), (draw(st.sampled_from(("always", "modulo", "text_is_const", "text_is_text"))),))]
    times = [(draw(st.integers(0, 2)), draw(st.sampled_from(derived.IDLE))) for _ in range(2)]
    if draw(st.booleans()):
        between = draw(st.sampled_from(("copy", "swap", "int_arithmetic")))
        made += [Node("union", (first, other)), Node("map", (first + 1,), (between,))]
        made.append(Node("event_time", (first + 2,), times[0]))
        carried = [own, together, together, together]
    else:
        made += [Node("event_time", (first,), times[0]), Node("event_time", (other,), times[1])]
        made.append(Node("union", (first + 1, first + 2)))
        carried = [own, own, copies[other], together]
    source = first + 3
    ends = ("end", "columns end")
    for more in (draw(st.sampled_from(ends)), draw(st.sampled_from((*ends, "bounds", "columns bounds", "collect")))):
        arguments, _ = derived.draw_arguments(draw, "window", failing=False)
        which = draw(st.sampled_from(("time", "sliding time")))
        made.append(Node("window", (source,), (which, *arguments[1:5], more)))
        source = first + len(carried)  # its results; the next stream has its late tuples
        carried += [together] * 2
    return made, carried


def _aggregate(draw: DrawFn, source: int, bad: bool, key: tuple[str, ...] | None = None) -> Node:
    by = draw(st.sampled_from(KEYS)) if key is None else key
    size, slide = draw(st.integers(0, 7)), draw(st.sampled_from(SLIDES))
    pools: Mapping[str, Iterable[str]] = {
        "i": INT_AGGREGATES,
        "n": pool.SMALL_AGGREGATES,
        "x": FLOAT_AGGREGATES,
        "y": FLOAT_AGGREGATES,
        "s": TEXT_AGGREGATES,
        "k": TEXT_AGGREGATES,
        "b": FLAG_AGGREGATES,
    }
    if draw(st.booleans()):
        pools = pool.NARROW_AGGREGATES
    if bad:
        spoiled = draw(st.sampled_from("ix"))
        found = pool.FAILING_INT_AGGREGATES if spoiled == "i" else pool.FAILING_FLOAT_AGGREGATES
        pools = {**pools, spoiled: [f"failing_{name}" for name in found]}
    forwards = key is not None or draw(st.booleans())  # keep the key, so that the next stage may be the same one
    fields = tuple(
        (field, f"key_{field}" if forwards and field in by else draw(st.sampled_from(tuple(names))))
        for field, names in pools.items()
    )
    return Node("aggregate", (source,), (size, slide, by, fields))


def plan_choices() -> SearchStrategy[PlanChoice]:
    return st.builds(
        PlanChoice,
        st.one_of(st.sampled_from(("all", "all", "none")), st.text("abc", min_size=1, max_size=8)),
        # One degree for all, or several: only operators of the same degree can share a stage.
        st.one_of(
            st.integers(1, 8).map(lambda d: (d,)), st.lists(st.integers(1, 8), min_size=2, max_size=3).map(tuple)
        ),
        st.integers(0, 5),
        st.one_of(st.just(DEFAULT_FRAME_ROWS), st.integers(1, 8), st.integers(1, 64)),
        st.booleans(),
        st.sampled_from(("thalweg", "thalweg", "paper")),
        st.booleans(),
        control.controls(),
        st.one_of(st.just(()), st.lists(st.integers(0, 11), min_size=1, max_size=9).map(tuple)),
        st.booleans(),
        st.one_of(st.just(()), st.just(tuple(range(64))), st.lists(st.integers(0, 20), max_size=6).map(tuple)),
        st.booleans(),
    )


@st.composite
def cases(draw: DrawFn, *, max_sources: int = 2, failing: bool = False) -> Case:
    sources = draw(st.integers(1, max_sources))
    made = draw(nodes(sources=sources, failing=failing))
    inputs = tuple(draw(input_files(failing=failing)) for _ in range(sources))
    max_tuples = draw(st.sampled_from((1_000_000, 7, 3, 12, 1, 20, 5)))
    # Shards are interleaved by the cuts, and splits are idle after some: not where there is one ordered source.
    ordered = tuple(kind for kind in KINDS if kind not in ("shards", "splits"))
    kinds = (*KINDS, *("failing_beacon",) * failing) if max_sources > 1 else ordered
    chosen = tuple(draw(st.sampled_from(kinds)) for _ in range(sources))
    return Case(made, inputs, max_tuples, draw(plan_choices()), chosen)
