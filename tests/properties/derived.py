"""Random nodes of the derived operators: windows, marks, joins, users' code, error policies. All make `Base` tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import thalweg as tw
from tests.properties import folds
from tests.properties import functions as pool
from tests.properties.functions import Base
from thalweg import agg, window
from thalweg.ir.types import BOOL, FLOAT, INT, STR

Arguments = tuple[Any, ...]
IDLE = (1, 2, 1, 10, None)
KEYS = (("k",), ("k",), (), ("n",), ("y",), ("k", "b"))


class Counting(tw.Operator):
    """Several outputs, state that differs by key, something to say at every mark and at the end."""

    def __init__(self, step: int, failing: bool = False) -> None:
        self.step, self.failing = step, failing
        self.count = 0
        self.held: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        self.count += 1
        self.held = [*self.held, t][-2:]
        if self.failing and t.n == 0:
            raise ValueError(f"no zero at {port}")
        if self.count % self.step == 0:
            self.submit(t)
            self.submit(self.held[0], 1)
        elif port == 1:
            self.submit({"i": self.count, "n": t.n, "x": t.x, "y": 0.5, "s": "second", "k": t.k, "b": True}, 1)

    def on_mark(self, time: int) -> None:
        now = 0.25 if self.now is None else float(self.now)
        self.submit(Base(self.count, len(self.held), now, float(self.step), "mark", self.held[-1].k, False))

    def at_end(self) -> None:
        if self.failing and self.count == 2:
            raise ValueError("two")
        now = 0.5 if self.now is None else float(self.now)
        self.submit(Base(self.count, -1, now, -0.5, "end", self.held[-1].k, True), 1)


class Quiet(tw.Operator):
    """State without marks or an end, and a resource."""

    def __init__(self) -> None:
        self.total = 0.0

    def setup(self) -> float:
        return 0.5

    def process(self, t: Any, port: int) -> None:
        self.total = self.total * self.resource + t.x
        self.submit(Base(t.i, t.n, self.total, t.y, t.s, t.k, t.b))


class Forgetful(tw.Operator):
    """Keys that are forgotten by a tuple, at a mark and at the end, also when the call fails; and keys that sleep."""

    def __init__(self) -> None:
        self.count, self.last = 0, ""

    def process(self, t: Any, port: int) -> None:
        self.count, self.last = self.count + 1, t.k
        if t.n == 1:
            self.forget()
        if t.n == 0 and self.count > 1:
            raise ValueError("no second zero")
        if t.n > 2:
            self.sleep_until((self.now or 0) + t.n)
        self.submit(Base(self.count, t.n, t.x, t.y, t.s, t.k, self.now is None))

    def on_mark(self, time: int) -> None:
        if self.count % 3 == 0:
            self.forget()
        self.submit(Base(self.count, (self.now or 0) - time, 0.25, 0.5, "mark", self.last, False))

    def at_end(self) -> None:
        self.forget()
        self.submit(Base(self.count, 0, 0.5, 0.5, "end", self.last, True))


class Passing(tw.Operator):
    """Several inputs and outputs, and nothing that is kept."""

    def __init__(self, failing: bool) -> None:
        self.failing = failing

    def setup(self) -> int:
        return 3

    def process(self, t: Any, port: int) -> None:
        if self.failing and t.n == 0:
            raise ValueError(f"no zero at {port}")
        self.submit(t, port)
        if t.n % self.resource == 0:
            self.submit(Base(t.i, port, t.x, t.y, t.s, t.k, t.b))


def pass_some(t: Any, state: None, submit: Callable[..., None]) -> None:
    for i in range(t.n % 3):
        submit(Base(i, t.n, t.x, t.y, t.s, t.k, t.b))


def remember(t: Any, state: dict[str, Any], submit: Callable[..., None]) -> None:
    state[t.s] = state.get(t.s, 0) + 1
    submit(Base(len(state), t.n, t.x, t.y, t.s, t.k, t.b))
    if t.b:
        submit(t)


def replace_state(t: Any, state: int, submit: Callable[..., None]) -> int:
    submit(Base(state, t.n, t.x, t.y, t.s, t.k, t.b))
    return int(state + t.n) % 1000


def count_to_three(t: Any, state: int, submit: Callable[..., None]) -> int | None:
    submit(Base(state, t.n, t.x, t.y, t.s, t.k, t.b))
    return None if state == 3 else state + 1


def collect_three(t: Any, state: list[Any], submit: Callable[..., None]) -> list[Any] | None:
    state.append(t)
    if len(state) < 3:
        return state
    submit(state[0])
    return None


class Price(tw.Tuple):
    k: str
    price: float


PRICES = [Price("a", 1.5), Price("b", 0.1), Price("a", -0.0)]


def above(least: int) -> Callable[[list[int]], int]:
    return lambda values: sum(v > least for v in values)


WIDER: Mapping[str, tuple[agg.AggregateExpr, ...]] = {
    "i": (
        *folds.aggregates(INT).values(),
        *(agg.distinct("k"), agg.argmax("x", "n"), agg.count(), agg.apply(len, "s", int)),
        *(agg.apply(above(0), "n", int), agg.apply(above(2), "n", int), agg.sum("n"), agg.distinct("y")),
    ),
    "n": (agg.argmin("y", "n"), agg.distinct("s"), agg.count(), agg.apply(above(1), "n", int), agg.last("n")),
    "x": (*folds.aggregates(FLOAT).values(), agg.quantile("y", 0.3), agg.mean("x"), agg.min("x")),
    "y": (*folds.aggregates(FLOAT).values(), agg.median("x"), agg.sum("x") / agg.count()),
    "s": (*folds.aggregates(STR).values(), agg.argmax("y", "s"), agg.any("k")),
    "k": (agg.any("k"), agg.argmin("x", "k")),
    "b": (*folds.aggregates(BOOL).values(), agg.argmax("n", lambda t: t.x > t.y)),
}
# Folds whose elements are kept in columns in windows by time.
IN_COLUMNS: Mapping[str, tuple[agg.AggregateExpr, ...]] = {
    "i": (agg.count(), agg.sum("n"), agg.min("n"), agg.max("i"), agg.first("i"), agg.last("n")),
    "n": (agg.first("n"), agg.min("n"), agg.max("n"), agg.count(), agg.last("n")),
    "x": (agg.sum("x"), agg.min("x"), agg.max("x"), agg.mean("y"), agg.max("y"), agg.first("x"), agg.last("y")),
    "y": (agg.min("y"), agg.max("x"), agg.sum("y"), agg.first("y"), agg.sum("x") / agg.count()),
    "s": (agg.first("s"), agg.last("k"), agg.any("s")),
    "k": (agg.any("k"), agg.first("k")),
    "b": (agg.first("b"), agg.last("b")),
}
IN_COLUMNS_WITH = ("columns", "columns", "columns bounds", "columns end")
WINDOWS = (
    *("running", "tumbling", "sliding", "tumbling delta", "sliding delta"),
    *("time", "sliding time", "punctuation", "sliding punctuation"),
)


def _window(kind: str, size: int, step: int, by: tuple[str, ...]) -> Any:
    match kind:
        case "running":
            return window.running(by=by)
        case "tumbling":
            return window.tumbling(count=size, by=by)
        case "sliding":
            return window.sliding(count=size, slide=step, by=by)
        case "tumbling delta":
            return window.tumbling(delta=step, on="n", by=by)
        case "sliding delta":
            return window.sliding(delta=size, on="n", slide=step, by=by)
        case "time":
            return window.tumbling(time=step, by=by, on="n")
        case "sliding time":
            return window.sliding(time=size + step, slide=step, by=by, on="n")
        case "punctuation":
            return window.tumbling(punctuation=True, by=by)
    return window.sliding(punctuations=size, by=by)


def _marked(stream: tw.Stream, kind: str, name: str) -> tw.Stream:
    """The stream with the marks that the window needs."""
    if "time" in kind and not stream.timed:
        return stream.event_time("n", lateness=1, name=f"{name}.time")
    if "punctuation" in kind and (stream.marks is None or stream.timed):
        return stream.punctor(lambda t: t.n > 2, name=f"{name}.punctor")
    return stream


def _letters(stream: tw.Stream, name: str) -> tw.Stream:
    """Dead letters as `Base` tuples."""
    return stream.dead_letters.map(
        lambda t: Base(len(t.tuple), len(t.error), 0.5, 1.5, t.error, t.operator, False), Base, name=f"{name}.letters"
    )


def build(name: str, kind: str, arguments: Arguments, inputs: list[tw.Stream]) -> Iterable[tw.Stream]:
    """The streams that a node makes, all of `Base` tuples."""
    first = inputs[0]
    match kind, arguments:
        case "window", (which, size, step, by, picks, more):
            return _windowed(_marked(first, which, name), name, _window(which, size, step, by), picks, more)
        case "apply", (which, size, step, by, what):
            return _applied(_marked(first, which, name), name, _window(which, size, step, by), what)
        case "event_time", (lateness, idle):
            return [first.event_time("n", lateness=lateness, idle=idle, name=name)]
        case "punctor", (before,):
            return [first.punctor(lambda t: t.n % 3 == 1, before=before, name=name)]
        case "dedup", (by, within):
            marked = first if within is None else _marked(first, "time", name)
            if within is not None and marked.time != "n":
                return [marked.dedup(by, name=name), marked]
            made = marked.dedup(by, within=within, name=name)
            return [made] if within is None else [made, made.late]
        case "sort buffer", (size, descending):
            return [first.sort(("y", "n"), buffer=size, descending=descending, name=name)]
        case "random split", (shares, seed):
            return first.split_randomly(shares, seed=seed, name=name)
        case "loop", (by, immediate):
            return _looped(first, name, by, immediate)
        case "map_batches", ():
            return [first.map_batches(lambda table: table, Base, name=name)]
        case "pace", (what,):
            return [first.delay(1e-6, name=name) if what == "delay" else first.throttle(1e9, name=name)]
        case "lookup", (missing,):
            found = first.lookup(PRICES, Price, on="k", missing={"price": 2.5} if missing else None, name=name)
            return [found.map(lambda t: Base(t.i, t.n, t.price, t.y, t.s, t.k, t.b), Base, name=f"{name}.back")]
        case "meet", (what, by):
            return [_met(name, what, by, inputs)]
        case "wide join", (what, mine, theirs):
            return _joined(name, what, mine, theirs, inputs)
        case "custom", (what, by):
            return [_custom(first, name, what, by)]
        case "operator", (step, by, policy):
            code = Counting(step, failing=policy is not None)
            made_streams = tw.operator(code, *inputs, into=(Base, Base), by=by, on_error=policy or "fail", name=name)
            letters = [_letters(made_streams[0], name)] if policy == "dead_letter" else []
            return [*made_streams, *letters]
        case "passing", (policy,):
            made_streams = tw.operator(
                Passing(policy is not None), *inputs, into=(Base, Base), on_error=policy or "fail", name=name
            )
            return [*made_streams, *([_letters(made_streams[0], name)] if policy == "dead_letter" else [])]
        case "policy", (what, function, policy, over):
            made = _with_policy(first, name, what, function, policy, over)
            return [made, _letters(made, name)] if policy == "dead_letter" else [made]
    raise AssertionError(kind)


def _windowed(
    marked: tw.Stream, name: str, over: Any, picks: tuple[tuple[str, int], ...], more: str
) -> Iterable[tw.Stream]:
    """An aggregate. `more`: of folds in columns; with lists of values, or with the bounds, or the end, of windows in
    event time."""
    found = IN_COLUMNS if "columns" in more else WIDER
    fields: dict[str, Any] = {f: found[f][pick % len(found[f])] for f, pick in picks}
    if "bounds" in more and getattr(over, "timed", False):
        fields |= {"i": agg.window_start(), "n": agg.window_end() - agg.window_start()}
    if "end" in more and getattr(over, "timed", False):
        fields |= {"n": agg.window_end()}  # windows by time that follow are chained: they take `n`
    if more == "collect":
        fields |= {"numbers": agg.collect("n"), "texts": agg.collect(lambda t: t.s + t.k)}
    made = back = marked.aggregate(over, name=name, **fields)
    if more == "collect":
        back = made.map(
            lambda t: Base(len(t.numbers), t.numbers[-1], t.x, t.y, "".join(t.texts)[:9], t.k, t.b),
            Base,
            name=f"{name}.back",
        )
    return [back] if made.beside_late is None else [back, made.late]


def _applied(stream: tw.Stream, name: str, chosen: Any, what: str) -> Iterable[tw.Stream]:
    match what:
        case "sort":
            made = stream.sort(("x", "s"), window=chosen, name=name)
        case "sort descending":
            made = stream.sort(("n", "k"), window=chosen, descending=True, name=name)
        case "sort mixed":
            made = stream.sort(("n", "x", "s"), window=chosen, descending=[True, False, True], name=name)
        case "top_k mixed":
            made = stream.top_k(2, ("n", "y", "k"), window=chosen, least=[True, False, True], name=name)
        case "top_k":
            made = stream.top_k(2, ("y", "n"), window=chosen, name=name)
        case "top_k least":
            made = stream.top_k(2, ("n", "s"), window=chosen, least=True, name=name)
        case "skyline":
            made = stream.skyline(most="y", least="n", window=chosen, name=name)
        case _:
            made = stream.apply(chosen, lambda rows: rows[::2], Base, name=name)
    return [made] if made.beside_late is None else [made, made.late]


def _looped(stream: tw.Stream, name: str, by: tuple[str, ...], immediate: bool) -> Iterable[tw.Stream]:
    """A loop that comes to an end: each round makes a number smaller."""
    loop = stream.app.feedback(Base, immediate=immediate, name=f"{name}.loop")
    both = stream.union(loop, name=name)
    code: Any = (remember, {}) if by == ("k",) else (collect_three, []) if immediate else (count_to_three, 0)
    counted = both.custom(code[0], Base, by=by, state=code[1], name=f"{name}.custom")
    shrunk = counted.filter(lambda t: 1 < t.n < 5, name=f"{name}.filter")
    shrunk.map(lambda t: Base(t.i, t.n - 2, t.x, t.y, t.s, t.k, t.b), Base, name=f"{name}.map").feed(
        loop, name=f"{name}.feed"
    )
    return [counted]


def _met(name: str, what: str, by: tuple[str, ...], inputs: list[tw.Stream]) -> tw.Stream:
    first, *others = inputs
    if what == "merge":
        return first.merge_ordered(*others, on="n", name=name)
    if what == "pair":
        return first.pair(*others, by=by, name=name)
    other = others[0].map(lambda t: {"k": t.k, "rx": t.x, "ri": t.i}, name=f"{name}.right")
    left = first.map(lambda t: {"i": t.i, "n": t.n, "k": t.k, "y": t.y}, name=f"{name}.left")
    if not by:
        other = other.map(lambda t: {"rx": t.rx, "ri": t.ri}, name=f"{name}.right2")
    met = left.barrier(other, by=by and ("k",), name=name)
    return met.map(lambda t: Base(t.ri, t.n, t.rx, t.y, "met", t.k, t.ri > 0), Base, name=f"{name}.back")


def _joined(name: str, what: str, mine: Any, theirs: Any, inputs: list[tw.Stream]) -> Iterable[tw.Stream]:
    left, right = inputs
    right = right.map(lambda t: {"rk": t.k, "rn": t.n, "rx": t.x}, name=f"{name}.right")
    own = None if mine is None else window.last(mine)
    back = lambda t: Base(t.i, t.rn, t.rx, t.y, t.rk, t.k, t.b)
    if what == "within":
        left = _marked(left, "time", name)
        if left.time != "n":
            left = left.event_time("n", name=f"{name}.time2")
        right = right.event_time("rn", name=f"{name}.rtime")
        made = left.join(right, window.within(theirs or 1), mine=window.within(theirs or 1), on={"k": "rk"}, name=name)
    elif what == "band":
        made = left.join(right, window.last(theirs), mine=own, band=("n", "rn", 1), name=name)
    elif what == "where":
        made = left.join(right, window.last(theirs), mine=own, where=lambda a, b: a.x > b.rx, name=name)
    else:
        made = left.join(right, window.last(theirs), mine=own, on={"k": "rk"}, name=name)
    joined = made.map(back, Base, name=f"{name}.back")
    if what != "within":
        return [joined]
    other = lambda t: Base(0, t.rn, t.rx, t.rx, t.rk, t.rk, False)
    return [joined, made.late, made.late_other.map(other, Base, name=f"{name}.other")]


def _custom(stream: tw.Stream, name: str, what: str, by: tuple[str, ...]) -> tw.Stream:
    match what:
        case "remember":
            return stream.custom(remember, Base, by=by, state={}, name=name)
        case "replace":
            return stream.custom(replace_state, Base, by=by, state=0, name=name)
        case "pass":
            return stream.custom(pass_some, Base, by=by, name=name)
        case "forget":
            return stream.custom(count_to_three, Base, by=by, state=0, name=name)
        case "forget list":
            return stream.custom(collect_three, Base, by=by, state=[], name=name)
        case "forgetful":
            return _marked(stream, "time", name).custom(Forgetful(), Base, by=by, on_error="skip", name=name)
    return stream.custom(Quiet(), Base, by=by, name=name)


def no_zeros(rows: list[Any]) -> list[Any]:
    if rows[-1].n == 0:
        raise ValueError(f"no zero after {len(rows)}")
    return rows[:2]


def batch_without_zeros(table: Any) -> Any:
    if 0 in table["n"].to_pylist():
        raise ValueError("no zero")
    return table


def batch_naming_zeros(table: Any) -> Any:
    """Names some of the rows that fail, and fails on the others without naming them."""
    values = table["n"].to_pylist()
    if zeros := [row for row, n in enumerate(values) if n == 0]:
        raise tw.FailedRows(zeros, "no zero")
    if 3 in values:
        raise ValueError("no three")
    return table


def remember_and_fail(t: Any, state: dict[str, Any], submit: Callable[..., None]) -> None:
    remember(t, state, submit)
    if t.n == 0:
        raise ValueError(f"no zero among {len(state)}")


# Which attribute has the field that fails.
_FAILING_KERNELS = {
    **{n: ("x", a) for n, a in pool.FAILING_FLOAT_AGGREGATES.items()},
    **{n: ("i", a) for n, a in pool.FAILING_INT_AGGREGATES.items()},
}
_FAILING: Mapping[str, Mapping[str, Any]] = {
    "map": pool.FAILING_MAPS,
    "filter": pool.FAILING_PREDICATES,
    "punctor": pool.FAILING_PREDICATES,
    "flat_map": pool.FAILING_FLAT_MAPS,
    "split": pool.FAILING_SPLITS,
    # Next to folds without a kernel; in a kernel; in windows by time whose folds are kept in columns.
    "aggregate": _FAILING_KERNELS | {n: ("x", a) for n, a in folds.failing_aggregates(FLOAT).items()},
    "kernel": _FAILING_KERNELS,
    "panes": _FAILING_KERNELS,
    "apply": {"no_zeros": no_zeros},
    "join": {"quotient": lambda a, b: a.x / b.rn > 0.25},
    "map_batches": {"no_zeros": batch_without_zeros, "naming_zeros": batch_naming_zeros},
    "custom": {"remember": remember_and_fail},
}
_POLICIES = (*_FAILING, *["panes"] * 4, *("kernel", "apply", "join", "map_batches", "custom") * 2)
_WINDOWS_OF = {"kernel": ("running", "tumbling", "sliding", "sliding"), "panes": ("time", "sliding time")}


def _with_policy(
    stream: tw.Stream, name: str, what: str, function: str, policy: str, over: tuple[str, int, int, tuple[str, ...]]
) -> tw.Stream:
    chosen = _FAILING[what][function]
    match what:
        case "map":
            return stream.map(chosen, Base, on_error=policy, name=name)
        case "filter":
            return stream.filter(chosen, on_error=policy, name=name)
        case "punctor":
            return stream.punctor(chosen, on_error=policy, name=name)
        case "flat_map":
            return stream.flat_map(chosen, Base, on_error=policy, name=name)
        case "split":
            made = stream.split(chosen, 3, on_error=policy, name=name)
            both = made[0].union(*made[1:], name=f"{name}.union")
            return tw.Stream(both.app, both.ref, both.tuple_type, dead_letter_stream=made[0].dead_letter_stream)
        case "apply":
            return _marked(stream, over[0], name).apply(_window(*over), chosen, Base, on_error=policy, name=name)
        case "join":
            right = stream.map(lambda t: {"rk": t.k, "rn": t.n}, name=f"{name}.right")
            joined = stream.join(right, window.last(2), on={"k": "rk"}, where=chosen, on_error=policy, name=name)
            back = joined.map(lambda t: Base(t.i, t.rn, t.x, t.y, t.s, t.k, t.b), Base, name=f"{name}.back")
            return tw.Stream(back.app, back.ref, back.tuple_type, dead_letter_stream=joined.dead_letter_stream)
        case "map_batches":
            return stream.map_batches(chosen, Base, on_error=policy, name=name)
        case "custom":
            return stream.custom(chosen, Base, by=over[3], state={}, on_error=policy, name=name)
    field, failing = chosen
    others: Mapping[str, agg.AggregateExpr] = (
        pool.KEY_AGGREGATES if what in ("kernel", "panes") else {f: WIDER[f][-1] for f in WIDER}
    )
    fields: dict[str, Any] = {**others, field: failing}
    return _marked(stream, over[0], name).aggregate(_window(*over), on_error=policy, name=name, **fields)


# Strategies


CUSTOM = ("remember", "replace", "class", "pass", "forget", "forget list", "forgetful", "forgetful")
KINDS = (
    *("window", "window", "window", "apply", "apply", "event_time", "event_time", "punctor", "dedup", "sort buffer"),
    *("random split", "map_batches", "pace", "lookup", "meet", "meet", "wide join", "wide join", "custom", "operator"),
    *("custom",),
    *("operator", *["policy"] * 6, "loop", "passing"),
)
# How many streams a node takes in addition to the first, and how many tuples it may emit for one.
MORE_INPUTS = {"meet": 1, "wide join": 1, "passing": 1}
FACTOR = {
    "loop": 6,
    "apply": 4,
    "lookup": 2,
    "wide join": 4,
    "custom": 2,
    "operator": 2,
    "policy": 2,
    "meet": 2,
    "passing": 2,
}


def draw_arguments(draw: DrawFn, kind: str, *, failing: bool) -> tuple[Arguments, int]:
    """The arguments of a node, and how many streams it makes."""
    by = draw(st.sampled_from(KEYS))
    match kind:
        case "window":
            which = draw(st.sampled_from((*WINDOWS, *["sliding time"] * 3)))  # the window in which order is hardest
            size, step = draw(st.integers(1, 4)), draw(st.integers(1, 3))
            picks = tuple((f, draw(st.integers(0, len(found) - 1))) for f, found in WIDER.items())
            more = draw(st.sampled_from(("", "", "collect", "bounds", "end", *IN_COLUMNS_WITH)))
            return (which, size, step, by, picks, more), 2 if "time" in which else 1
        case "apply":
            which = draw(st.sampled_from(WINDOWS))
            bounded = ("top_k", "top_k least", "top_k mixed")  # of all tuples so far the others would make too many
            whole = ("sort", "sort descending", "sort descending", "sort mixed", "sort mixed", "skyline", "function")
            what = draw(st.sampled_from(bounded if which == "running" else (*bounded, *whole)))
            return (which, draw(st.integers(1, 4)), draw(st.integers(1, 3)), by, what), 2 if "time" in which else 1
        case "event_time":
            return (draw(st.integers(0, 3)), draw(st.sampled_from(IDLE))), 1
        case "punctor":
            return (draw(st.booleans()),), 1
        case "dedup":
            within = draw(st.sampled_from((None, 1, 3)))
            return (by or ("s",), within), 1 if within is None else 2
        case "sort buffer":
            return (draw(st.integers(1, 5)), draw(st.sampled_from((False, True, (True, False), (False, True))))), 1
        case "random split":
            return (draw(st.sampled_from(((1.0, 1.0), (0.2, 0.0, 0.8)))), draw(st.integers(0, 3))), -1
        case "pace":
            return (draw(st.sampled_from(("delay", "throttle"))),), 1
        case "lookup":
            return (draw(st.booleans()),), 1
        case "meet":
            return (draw(st.sampled_from(("merge", "pair", "barrier"))), draw(st.sampled_from(((), ("k",))))), 1
        case "wide join":
            what = draw(st.sampled_from(("on", "band", "where", *["within"] * 3)))
            mine, theirs = draw(st.sampled_from((None, 0, 1, 2))), draw(st.sampled_from((0, 1, 2, 3)))
            return (what, mine, theirs), 3 if what == "within" else 1
        case "loop":
            return (by, draw(st.booleans())), 1
        case "custom":
            return (draw(st.sampled_from(CUSTOM)), by), 1
        case "passing":
            policy = draw(
                st.sampled_from(("fail", "skip", "dead_letter") if failing else (None, "skip", "dead_letter"))
            )
            return (policy,), 3 if policy == "dead_letter" else 2
        case "operator":
            policies = ("fail", "skip", "dead_letter") if failing else (None, "skip", "dead_letter")
            policy = draw(st.sampled_from(policies))
            return (draw(st.integers(1, 3)), by, policy), 3 if policy == "dead_letter" else 2
        case "policy":
            what = draw(st.sampled_from(_POLICIES))
            function = draw(st.sampled_from(tuple(_FAILING[what])))
            policy = draw(st.sampled_from(("skip", "dead_letter")))
            windows = _WINDOWS_OF.get(what, WINDOWS)
            over = draw(st.sampled_from(windows)), draw(st.integers(1, 4)), draw(st.integers(1, 3)), by
            return (what, function, policy, over), 2 if policy == "dead_letter" else 1
    return (), 1
