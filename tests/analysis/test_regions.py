"""Parallel regions: the paper's rules, Figure 5, the ordering table, Thalweg's extensions, and what users say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, window
from thalweg.analysis.edges import edges
from thalweg.analysis.form_regions import form_regions
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.errors import GraphError, HintError, PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held


class Row(tw.Tuple):
    k: str
    n: int
    v: float


def rows() -> tuple[tw.App, tw.Stream]:
    app = tw.App("regions")
    return app, app.source(tw.files("in", format="parquet"), Row, name="rows")


def by(stream: tw.Stream, *key: str, name: str) -> tw.Stream:
    """A running sum by a key, which it passes on with the rest."""
    fields: dict[str, Any] = {"k": agg.last("k"), "n": agg.last("n")} | {a: agg.any(a) for a in key}
    return stream.aggregate(window.running(by=list(key)), **fields, v=agg.sum("v"), name=name)


def shown(graph: LogicalGraph, rules: str = "thalweg") -> list[tuple[str, str]]:
    """Each region's operators, and the attributes that route tuples into it."""
    return [(" ".join(r.operators), " ".join(r.key or ())) for r in form_regions(graph, rules).regions]


def why(graph: LogicalGraph, name: str, rules: str = "thalweg") -> str:
    verdict = form_regions(graph, rules).verdicts[name]
    assert not verdict.parallel
    return verdict.reason.text


def figure_5(*, o9_alone: bool = False) -> LogicalGraph:
    """o1 and o7 meet in o8; o2 | o3 n.p. | o4 n.p. | o5 o6 | o9 {k} o10 {k, l} | o11 {l} | o12 … o13 … o14. Our `n` is
    the figure's l."""
    app, source = rows()

    def stateless(stream: tw.Stream, name: str) -> tw.Stream:
        return stream.filter(lambda t: t.v > 0, name=name)

    def alone(stream: tw.Stream, name: str) -> tw.Stream:
        return stream.aggregate(window.running(), k=agg.last("k"), n=agg.last("n"), v=agg.sum("v"), name=name)

    a, b = alone(source, "in_a"), alone(source, "in_b")
    o1 = stateless(a, "o1")
    o2 = stateless(b, "o2")
    o3 = alone(o2, "o3")
    o4 = o3.flat_map(lambda t: [t, t], Row, name="o4")  # selectivity above one
    o5 = stateless(o4, "o5")
    o6 = by(o5, "k", name="o6")
    o7 = alone(o6, "o7")
    o8 = o1.union(o7, name="o8")
    o9 = by(o8, "k", name="o9")
    o9 = o9.sequential() if o9_alone else o9
    o10 = by(o9, "k", "n", name="o10")
    o11 = by(o10, "n", name="o11")
    end = alone(o11, "end")
    o12 = stateless(end, "o12")
    o13 = o12.union(alone(source, "in_c"), name="o13")
    stateless(o13, "o14").fuse_with(o12).sink(tw.collect(), name="out")
    return app.graph()


def test_figure_5() -> None:
    graph = figure_5()
    assert shown(graph, "paper") == [("o1", ""), ("o2", ""), ("o5 o6", "k"), ("o9 o10", "k"), ("o11", "n")]
    assert why(graph, "o8", "paper") == "has 2 predecessors"
    assert why(graph, "o3", "paper") == "keeps one state for all tuples"
    assert why(graph, "o4", "paper").startswith("may emit several tuples for one")
    assert why(graph, "o12", "paper") == "shares a PE with o14, which is in a different region"
    assert why(graph, "o14", "paper") == "shares a PE with o12, which is in a different region"
    regions = form_regions(graph, "paper").regions
    assert [(r.first.kind, r.last.kind) for r in regions] == [
        ("split", "merge"),
        ("split", "merge"),
        ("split", "merge"),
        ("split", "shuffle"),
        ("shuffle", "merge"),
    ]
    make_plan(graph, degree=3, rules="paper")
    make_plan(graph, degree=3)
    # "Another safe alternative would have been to combine o10 with o11 instead of o9": left to right decides.
    assert shown(figure_5(o9_alone=True), "paper")[3:] == [("o10 o11", "n")]


ORDERING: list[tuple[str, Callable[[tw.Stream], tw.Stream], str]] = [
    ("stateless, one for one", lambda s: s.map(lambda t: {"v": t.v + 1}), "round-robin"),
    ("stateless, at most one", lambda s: s.filter(lambda t: t.v > 0), "numbers and pulses"),
    ("by key, one for one", lambda s: by(s, "k", name="sum"), "numbers"),
    ("by key, at most one", lambda s: by(s.filter(lambda t: t.v > 0), "k", name="sum"), "numbers and pulses"),
]


@pytest.mark.parametrize(("case", "make", "strategy"), ORDERING, ids=[case for case, _, _ in ORDERING])
def test_the_ordering_table(case: str, make: Callable[[tw.Stream], tw.Stream], strategy: str) -> None:
    """As in the paper: from the state and the selectivity of the region."""
    app, source = rows()
    make(source).sink(tw.collect())
    (region,) = form_regions(app.graph(), "paper").regions
    assert (region.first.kind, region.last.kind) == ("split", "merge")
    assert {region.first.strategy, region.last.strategy} == {strategy}


def test_a_region_that_ends_in_a_shuffle_has_numbers_and_pulses_regardless_of_the_table() -> None:
    app, source = rows()
    by(source.map(lambda t: {"k": t.k.upper(), "n": t.n, "v": t.v}, name="m"), "k", name="sum").sink(tw.collect())
    first, second = form_regions(app.graph()).regions
    assert (first.last.kind, first.last.strategy) == ("shuffle", "numbers and pulses")
    assert (second.first.kind, second.last.strategy) == ("shuffle", "numbers and pulses")


def test_figure_1() -> None:
    """Servers' logs, users' summaries, suspects: a parallel source, a shuffle, and a merge before the file."""
    app = tw.App("figure_1")

    class Entry(tw.Tuple):
        uid: int
        server: str

    messages = app.source(tw.files("in", format="parquet"), Entry, partition_by="server", name="messages")
    summaries = messages.aggregate(
        window.tumbling(count=5, by="uid"), uid=agg.any("uid"), total=agg.count(), name="summaries"
    )
    suspects = summaries.filter(lambda s: s.total > 100, name="suspects")
    suspects.sink(tw.files("out", format="csv"), name="file")
    graph = app.graph()
    for rules in ("thalweg", "paper"):
        regions = form_regions(graph, rules).regions
        assert [r.operators for r in regions] == [("messages",), ("summaries", "suspects")]
        assert [(r.first.kind, r.last.kind) for r in regions] == [
            ("parallel source", "shuffle"),
            ("shuffle", "merge"),
        ]
    found = {f"{e.stream} -> {e.operator}": (e.needed, e.paid) for e in edges(make_plan(graph, degree=2))}
    assert found["messages -> summaries"] == ("per uid", "a merge by numbers and pulses")
    assert found["suspects -> file"] == ("all", "a merge by numbers and pulses")


# Beyond the paper.


def test_compatible_keys_share_a_region_and_a_route() -> None:
    app, source = rows()
    by(by(source, "k", "n", name="fine"), "k", name="coarse").sink(tw.collect(), name="out")
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("fine coarse", "k")]
    assert print_plan(make_plan(graph, degree=4)).splitlines()[1:] == [
        "# stage 0",
        "rows    degree=4",
        "# stage 1: exchange rows by k over 4",
        "fine    degree=4 key=k group=1",
        "coarse  degree=4 key=k group=1",
    ]
    whole = make_plan(graph, degree=4, held=Held(routes={}))  # as states were written before
    assert len(layout(whole).stages) == 3
    assert whole.decisions["fine"].key == ("k", "n")


def test_a_renamed_key_is_followed() -> None:
    app, source = rows()
    first = by(source, "k", name="first")
    renamed = first.map(lambda t: {"who": t.k, "v": t.v}, name="renamed")
    renamed.aggregate(window.running(by="who"), who=agg.any("who"), v=agg.sum("v"), name="second").sink(tw.collect())
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("first renamed second", "k")]
    assert len(layout(make_plan(graph, degree=2)).stages) == 2


def test_a_changed_key_is_not() -> None:
    app, source = rows()
    changed = by(source, "k", name="first").map(lambda t: {"k": t.k + "!", "v": t.v}, name="changed")
    changed.aggregate(window.running(by="k"), k=agg.any("k"), total=agg.sum("v"), name="second").sink(tw.collect())
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("first changed", "k"), ("second", "k")]
    assert len(layout(make_plan(graph, degree=2)).stages) == 3


def test_fan_out_many_tuples_and_joins_inside_a_region() -> None:
    app, source = rows()
    sums = by(source, "k", name="sums")
    many = sums.flat_map(lambda t: [t, t], Row, name="many")
    few = sums.filter(lambda t: t.v > 0, name="few")
    both = many.union(few, name="both")
    right = by(source, "k", name="right").map(lambda t: {"k": t.k, "w": t.v}, name="right_side")
    both.join(right, window.last(1, by="k"), on="k", name="joined").sink(tw.collect(), name="out")
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("sums many few both", "k"), ("right right_side joined", "k")]
    assert [len(stage.pes) for stage in layout(make_plan(graph, degree=2)).stages] == [1, 1]


def test_what_may_keep_state_is_left_alone() -> None:
    from tests.graphs import unknown

    graph = unknown()
    assert shown(graph) == [("numbers", "")]
    assert why(graph, "odd").startswith("may keep state: ")
    assert print_plan(make_plan(graph, degree=2)).splitlines()[-1] == "odd      degree=1"
    assert make_plan(graph).degrees == {"numbers": 1}


class Doubles(tw.Operator):
    """It only reads what it was set to."""

    def __init__(self) -> None:
        self.factor = 2

    def process(self, t: Any, port: int) -> None:
        self.submit({"k": t.k, "n": t.n * self.factor, "v": t.v})


class Totals(tw.Operator):
    def __init__(self) -> None:
        self.total = 0

    def process(self, t: Any, port: int) -> None:
        self.total += t.n
        self.submit({"k": t.k, "n": self.total, "v": t.v})


class Says(Doubles):
    def at_end(self) -> None:
        self.submit({"k": "", "n": 0, "v": 0.0})


def test_code_that_keeps_nothing_has_no_state() -> None:
    app, source = rows()
    doubled = source.custom(Doubles(), Row, name="doubled")
    passed = doubled.custom(lambda t, state, submit: submit(t), Row, name="passed")
    (both,) = tw.operator(Doubles(), passed, source, into=Row, name="both")
    both.custom(Totals(), Row, name="totals").sink(tw.collect(), name="out")
    graph = app.graph()
    plan = make_plan(graph, degree=3)
    assert shown(plan.graph) == [("rows doubled passed both", "")]
    assert why(plan.graph, "totals") == "keeps one state for all tuples"
    assert plan.degrees == {"rows": 3, "totals": 1}
    assert [o.name for o in plan.graph.stateful] == ["totals"]
    held = make_plan(graph, degree=3, held=Held(frozenset(("doubled", "totals"))))  # as a checkpoint has it
    assert [o.name for o in held.graph.stateful] == ["doubled", "totals"]
    assert held.degrees["doubled"] == 1
    assert why(held.graph, "doubled").startswith("keeps no state, but")


def test_what_marks_and_the_end_are_for_stays_in_one_channel() -> None:
    app, source = rows()
    timed = source.event_time("n", name="timed").custom(Doubles(), Row, name="timed_too")
    timed.custom(tw.declare(state="stateless")(Says)(), Row, name="says").sink(tw.collect(), name="out")
    graph = make_plan(app.graph(), degree=2).graph
    for name in ("timed_too", "says"):
        assert why(graph, name).startswith("keeps no state, but marks, the end"), name


def test_parallel_code() -> None:
    app, source = rows()
    total = source.aggregate(window.running(), k=agg.last("k"), n=agg.last("n"), v=agg.sum("v"), name="total")
    total.custom(Doubles(), Row, name="work").parallel(3).sink(tw.collect(), name="out")
    assert make_plan(app.graph(), degree=2).degrees["work"] == 3
    app, source = rows()
    source.custom(Totals(), Row, name="totals").parallel().sink(tw.collect(), name="out")
    with pytest.raises(HintError, match=r"totals cannot run in several channels[\s\S]*keeps one state for all tuples"):
        make_plan(app.graph(), degree=2)


# What users say.


def test_sequential() -> None:
    app, source = rows()
    mapped = source.map(lambda t: {"k": t.k, "v": t.v}, name="mapped").sequential()
    mapped.filter(lambda t: t.v > 0, name="after").sink(tw.collect(), name="out")
    graph = app.graph()
    assert shown(graph) == [("rows", "")]
    assert why(graph, "mapped") == "declared sequential"
    assert why(graph, "after") == "takes its tuples where they are, after mapped, which runs in one channel"
    plan = make_plan(graph, degree=4)
    assert [pe.operators for stage in layout(plan).stages for pe in stage.pes] == [("rows",), ("mapped", "after")]
    assert plan.degrees == {"rows": 4, "mapped": 1}


def test_parallel_again_after_one_channel() -> None:
    app, source = rows()
    total = source.aggregate(window.running(), k=agg.last("k"), v=agg.sum("v"), name="total")
    work = total.map(lambda t: {"k": t.k, "v": t.v * 2}, name="work").parallel(3)
    work.filter(lambda t: t.v > 0, name="kept").sink(tw.collect(), name="out")
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("work kept", "")]
    assert make_plan(graph, degree=2).degrees == {"rows": 2, "total": 1, "work": 3}


def test_parallel_by_key() -> None:
    app, source = rows()
    cached = source.map(lambda t: {"k": t.k, "n": t.n, "v": t.v}, name="cached").parallel(key="k")
    by(cached, "k", name="sums").sink(tw.collect(), name="out")
    graph = app.graph()
    assert shown(graph) == [("rows", ""), ("cached sums", "k")]
    assert [pe.operators for stage in layout(make_plan(graph, degree=2)).stages for pe in stage.pes] == [
        ("rows",),
        ("cached", "sums"),
    ]


def test_fuse_with_and_isolate() -> None:
    app, source = rows()
    one = source.filter(lambda t: t.v > 0, name="one")
    two = one.filter(lambda t: t.v > 1, name="two").isolate()
    two.filter(lambda t: t.v > 2, name="three").sink(tw.collect(), name="out")
    one.filter(lambda t: t.v > 3, name="four").fuse_with(one).sink(tw.collect(), name="other")
    graph = app.graph()
    assert [pe.operators for pe in layout(make_plan(graph)).stages[0].pes] == [
        ("rows", "one", "four"),
        ("two",),
        ("three",),
    ]
    assert [pe.operators for pe in layout(make_plan(graph, fuse="none")).stages[0].pes] == [
        ("rows",),
        ("one", "four"),
        ("two",),
        ("three",),
    ]


def test_a_pe_that_cannot_be() -> None:
    app, source = rows()
    one = source.filter(lambda t: t.v > 0, name="one")
    by(one, "k", name="sums").fuse_with(one).sink(tw.collect(), name="out")
    with pytest.raises(HintError, match="sums and one cannot share a PE"):
        make_plan(app.graph())


def test_hints_that_contradict_each_other() -> None:
    app, source = rows()
    one = by(source, "k", name="one").parallel(2)
    by(one, "n", name="two").fuse_with(one).sink(tw.collect(), name="out")
    with pytest.raises(HintError, match="one cannot both run in several channels and be fused as requested"):
        make_plan(app.graph(), degree=2)

    _, source = rows()
    alone = source.filter(lambda t: t.v > 0, name="alone").isolate()
    after = alone.filter(lambda t: t.v > 1, name="after")
    with pytest.raises(GraphError, match="after cannot be fused with alone, which is isolated"):
        after.fuse_with(alone)
    another = source.filter(lambda t: t.v > 1, name="another").fuse_with(after)
    with pytest.raises(GraphError, match="another cannot be fused with after, which is isolated"):
        after.isolate()
    for wrong in ((), ("after",), (another,)):
        with pytest.raises(GraphError, match="fuse_with: no"):
            another.fuse_with(*wrong)


def test_order_of_a_plan_that_is_open() -> None:
    app, source = rows()
    by(source, "k", name="sums").sink(tw.collect(), name="out")
    (into, out) = edges(make_plan(app.graph(), degree="open"))
    assert (into.kept, into.paid) == ("within each channel", "a merge by numbers and pulses")
    assert out.paid.startswith("a merge by")


def test_unordered() -> None:
    app, source = rows()
    source.map(lambda t: {"v": t.v}, name="mapped").unordered().filter(lambda t: t.v > 0, name="kept").sink(
        tw.collect(), name="any"
    )
    source.sink(tw.collect(), name="all")
    found = {e.operator: (e.needed, e.paid) for e in edges(make_plan(app.graph(), degree=2))}
    assert found["any"] == ("none", "nothing")
    assert found["all"][0] == "all"


def test_unordered_is_about_one_stream_of_several() -> None:
    """Neither the other parts of a split, nor what fails, nor what comes too late."""
    app, source = rows()
    first, second, third = source.split(lambda t: t.n % 3, 3, name="parts")
    first.unordered().sink(tw.collect(), name="one")
    second.sink(tw.collect(), name="two")
    third.unordered().sink(tw.collect(), name="three")
    timed = source.event_time("n", name="timed")
    sums = timed.aggregate(window.tumbling(time=10, by="k"), k=agg.any("k"), v=agg.sum("v"), name="sums")
    sums.unordered().sink(tw.collect(), name="summed")
    sums.late.sink(tw.collect(), name="late")
    assert ordered_sinks(app.graph()) == {"two", "late"}


@pytest.mark.parametrize(
    ("endpoint", "needed"),
    [
        (tw.files("out"), "all"),
        (tw.tcp("localhost", 1), "all"),
        (tw.kafka("localhost:1", "topic"), "all"),
        (tw.postgres("postgresql://localhost/d", "t"), "none"),
        (tw.collect(), "none"),
        (tw.console(), "none"),
        (tw.none(), "none"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_replay_must_repeat_is_in_order(endpoint: Any, needed: str) -> None:
    """Whoever reads a file, a topic or a connection knows a tuple by its place, also when the epoch comes again."""
    app, source = rows()
    by(source, "k", name="sums").unordered().sink(endpoint, name="out")
    graph = app.graph()
    out = edges(make_plan(graph, degree=2))[-1]
    assert (out.operator, out.needed) == ("out", needed)
    assert (out.paid == "nothing") == (needed == "none")


@pytest.mark.parametrize(
    ("say", "message"),
    [
        (lambda s: s.parallel(0), "parallel: bad degree"),
        (lambda s: s.parallel(key="q"), "q"),
        (lambda s: s.parallel().sequential(), r"has both \.parallel\(\) and \.sequential\(\)"),
        (lambda s: s.isolate().fuse_with(by(s, "k", name="x")), r"has both \.isolate\(\) and \.fuse_with\(\)"),
        (lambda s: s.fuse_with(s), "streams of other operators"),
        (lambda s: by(s, "k", name="x").parallel(key="n"), "would be routed away from their state"),
        (lambda s: by(s, name="x").parallel(), "keeps one state for all tuples"),
    ],
)
def test_mistakes(say: Callable[[tw.Stream], tw.Stream], message: str) -> None:
    _, source = rows()
    with pytest.raises(GraphError, match=message) as raised:
        say(source.filter(lambda t: t.v > 0, name="f"))
    assert raised.value.where is not None
    assert raised.value.where.file == __file__


def test_open_degrees_are_chosen_by_the_run() -> None:
    app, source = rows()
    by(source, "k", name="sums").sink(tw.collect(), name="out")
    graph = app.graph()
    plan = make_plan(graph, degree="open")
    assert plan.degrees == {"rows": None, "sums": None}
    assert make_plan(graph, plan=print_plan(plan), degree=3) == make_plan(graph, degree=3)
    assert make_plan(graph, plan=print_plan(plan)) == make_plan(graph)


def test_unknown_rules() -> None:
    app, source = rows()
    source.sink(tw.collect())
    with pytest.raises(PlanError, match="unknown rules"):
        make_plan(app.graph(), rules="papr")
