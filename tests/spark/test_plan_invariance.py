"""Random graphs, logs and plans on Spark, against the reference over the run's own input log, bit for bit.

A query costs seconds, most of them for its start and for each of its stages. So several random graphs are put side by
side into one application: one query runs them all. A case is one graph, with its own files and its own part of the
plan.
`SPARK_CASES` of tests/amount.py is the number of cases.
"""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyspark import cloudpickle

from tests.amount import EXPLORE, SPARK_CASES
from tests.properties import control, derived, functions, typed
from tests.properties.strategies import Case, cases
from tests.properties.typed_cases import typed_cases
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.analysis.unused_state import settled
from thalweg.endpoints.collect import Collect
from thalweg.endpoints.feed import Feed
from thalweg.engine.core.losses import losses
from thalweg.engine.core.run import RunOptions, Watch
from thalweg.engine.sinks.writers import CollectSink, make_sinks, tuples_of
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SourceJob
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.report import EpochReport, added
from thalweg.errors import HintError, TupleError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.hints import Hint
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.plan import Plan
from thalweg.ir.text import print_plan
from thalweg.optimize.choose_degrees import asked_degrees, open_states
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held
from thalweg.verify.compare import first_difference, in_any_order
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

GRAPHS_PER_QUERY = 8
TYPED_PER_QUERY = 2  # of them, over all attribute types
FAILING = max(1, SPARK_CASES // 20)
# No shrinking: it would take hours. A failing case prints as it is, and shrinks on the local engine.
SETTINGS = settings(
    derandomize=not EXPLORE,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)

cloudpickle.register_pickle_by_value(functions)
cloudpickle.register_pickle_by_value(derived)
cloudpickle.register_pickle_by_value(typed)


def worth_a_query(case: Case) -> bool:
    kinds = [node.kind for node in case.nodes]
    rows = [sum(map(len, files)) for files in case.inputs]
    return len(kinds) >= 4 and ("aggregate" in kinds or "join" in kinds) and min(rows) >= 8


def big_cases(**options: Any) -> SearchStrategy[Case]:
    return cases(**options).filter(worth_a_query)


def side_by_side() -> SearchStrategy[list[Case]]:
    """The graphs of one query."""
    number = GRAPHS_PER_QUERY - TYPED_PER_QUERY
    plain = st.lists(big_cases(), min_size=number, max_size=number)
    rich = st.lists(typed_cases().filter(worth_a_query), min_size=TYPED_PER_QUERY, max_size=TYPED_PER_QUERY)
    return st.builds(lambda some, others: [*some, *others], plain, rich)


@pytest.fixture(autouse=True)
def _parallel_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small epochs be read by several tasks, as large ones are."""
    monkeypatch.setattr(spark_run, "SourceJob", functools.partial(SourceJob, rows_per_task=4))


@settings(SETTINGS, max_examples=-(-SPARK_CASES // GRAPHS_PER_QUERY))
@given(side_by_side(), st.sampled_from((2, 8, 3, 4)), st.integers(2, 3))
def test_the_plan_never_changes_the_answer(several: list[Case], channels: int, epochs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="thalweg-case-") as name:
        folder = Path(name)
        graphs = [prepare(case, folder, number) for number, case in enumerate(several)]
        plan = plan_together(several, graphs, channels)
        note(print_plan(plan))
        longest = max(sum(map(len, files)) for case in several for files in case.inputs)
        per_epoch = -(-longest // epochs) * len(plan.graph.sources)
        reports: list[EpochReport] = []
        result = run(plan, folder, per_epoch, reports.append)
        log = list(Checkpoint(folder / "checkpoint").log)
        assert len(log) == result.epochs
        # Of all graphs at once: seeded randomness depends on a tuple's position, and so on the other graphs.
        reference = Reference(plan.graph)
        answer = reference.run(log)
        check_counts(plan.graph, reference, reports)
        ordered = ordered_sinks(plan.graph)
        for case, graph in zip(several, graphs, strict=True):
            for sink in graph.sinks:
                if not isinstance(sink.endpoint, Collect):
                    continue  # what went round a loop is not kept, but what came of it is; and `tw.none` keeps nothing
                arranged = list if sink.name in ordered else in_any_order
                found = first_difference(arranged(answer[sink.name]), arranged(result.tuples(sink.name)))
                assert found is None, f"sink {sink.name} of {case!r}: {found}"


@settings(SETTINGS, max_examples=FAILING)
@given(big_cases(failing=True))
def test_the_reported_error_is_the_references(case: Case) -> None:
    """Same operator, same tuple, same message; sinks hold the reference's output up to the last whole epoch."""
    with tempfile.TemporaryDirectory(prefix="thalweg-case-") as name:
        folder = Path(name)
        graph = prepare(case, folder, 0)
        plan = plan_together([case], [graph], channels=3)
        per_epoch = -(-sum(len(rows) for files in case.inputs for rows in files) // 3)
        reported = None
        try:
            run(plan, folder, per_epoch)
        except TupleError as error:
            reported = error.as_json()
        checkpoint = Checkpoint(folder / "checkpoint")
        reference, expected = Reference(graph), None
        try:
            reference.run(checkpoint.log)
        except TupleError as error:
            expected = error.as_json()
        note(f"{case!r}\n\n{print_plan(plan)}")
        assert reported == expected
        collecting = [s.name for s in graph.sinks if isinstance(s.endpoint, Collect)]
        for name, sink in make_sinks(graph, checkpoint.results).items():
            if name not in collecting:
                continue
            assert isinstance(sink, CollectSink)
            arranged = list if name in ordered_sinks(plan.graph) else in_any_order
            found = first_difference(arranged(reference.answer[name]), arranged(tuples_of(sink.read())))
            assert found is None, f"sink {name}: {found}"


def check_counts(graph: LogicalGraph, reference: Reference, reports: list[EpochReport]) -> None:
    """What each operator took, gave and skipped is what the reference counted."""
    whole = functools.reduce(added, reports)
    assert reports[-1].lost_in_run == whole.lost == losses(graph, whole.operators)
    total = whole.operators
    for operator in graph.operators:
        for port, found in enumerate(total[operator.name].tuples_out):
            if found is not None:
                assert found == reference.counts.sent.get((operator.name, port), 0), (operator.name, port)
        for stream, found in zip(operator.inputs, total[operator.name].tuples_in, strict=True):
            assert found == total[stream.operator].tuples_out[stream.port], (operator.name, stream)
        assert total[operator.name].skipped == reference.counts.skipped.get(operator.name, 0), operator.name


def run(plan: Plan, folder: Path, per_epoch: int, watch: Watch = lambda report: None) -> Any:
    options = RunOptions(folder / "checkpoint", max_tuples_per_epoch=per_epoch)
    return spark_run.run_spark(plan, options, watch)


def prepare(case: Case, folder: Path, number: int) -> LogicalGraph:
    """The case's files on disk, and its graph with names that no other graph has."""
    case.write(folder / str(number))
    return renamed(case.app(folder / str(number)).graph(), f"g{number}.")


def renamed(graph: LogicalGraph, prefix: str) -> LogicalGraph:
    return LogicalGraph(graph.name, tuple(renamed_operator(operator, prefix) for operator in graph.operators))


def renamed_operator(operator: Operator, prefix: str) -> Operator:
    inputs = tuple(StreamRef(prefix + stream.operator, stream.port) for stream in operator.inputs)
    operator = replace(operator, name=prefix + operator.name, inputs=inputs)
    if isinstance(operator, Sink) and isinstance(operator.endpoint, Feed):
        return replace(operator, endpoint=Feed(prefix + operator.endpoint.into))
    return operator


def plan_together(several: list[Case], graphs: list[LogicalGraph], channels: int) -> Plan:
    """Each graph with the tables and fusion of its own case, but all with the degrees of the first and only two of them
    with their hints, so that they share their stages: a stage is what costs."""
    choice = several[0].choice
    hints: dict[str, Hint] = {}
    for case, graph in zip(several[:2], graphs, strict=False):
        said = control.hints(graph, case.choice.control)
        hints |= {n: replace(h, degree=h.degree and min(h.degree, channels)) for n, h in said.items()}
    together = LogicalGraph("random", tuple(o for graph in graphs for o in graph.operators), hints=hints)
    degrees: dict[str, int] = {}
    groups: dict[str, str] = {}
    for case, graph in zip(several, graphs, strict=True):
        chosen = case.choice
        for number, operator in enumerate(graph.stateful):
            degree = choice.degrees[number % len(choice.degrees)] if operator.key else 1
            degrees[operator.name] = min(degree, channels)
        groups |= group(graph, chosen.fusion, share_stages=several[0].choice.fusion == "all")
    buckets = channels + choice.more_buckets
    tables: dict[str, tuple[int, ...]] = {}
    for case, graph in zip(several, graphs, strict=True):
        tables |= case.choice.tables_of({o.name: degrees[o.name] for o in graph.stateful}, buckets)

    def make(graph: LogicalGraph) -> Plan:
        known = settled(graph)
        asked, free = asked_degrees(known, choice.rules), open_states(known, choice.rules)
        by_name = {o.name: degrees[o.name] if o.name in free else 1 for o in known.stateful if o.name not in asked}
        return make_plan(
            graph,
            degree=min(choice.degrees[0], channels) if choice.uniform else by_name,
            # The paper's rules make nearly every union a joint: in the groups of all graphs, that would be thirty
            # stages.
            fuse="all" if choice.rules == "paper" else groups,
            buckets=buckets,
            frame_rows=choice.frame_rows,
            rules=choice.rules,
            held=Held(tables=tables),
        )

    try:
        return make(together)
    except HintError:  # a PE that cannot be
        kept = {name: replace(hint, fuse_with=(), isolate=False) for name, hint in hints.items()}
        return make(replace(together, hints=kept))


def group(graph: LogicalGraph, fusion: str, *, share_stages: bool) -> dict[str, str]:
    """State is grouped by its depth, so that the graphs' stages coincide, or all of it, so that equal keys share one.

    An operator without state joins the PE with state before it, or another PE of that stage: its letter decides.
    """
    depth: dict[str, int] = {}
    groups: dict[str, str] = {}
    for number, operator in enumerate(graph.operators):
        before = max((depth[stream.operator] for stream in operator.inputs), default=0)
        depth[operator.name] = before + (operator.key is not None)
        state = "state" if share_stages else f"state{depth[operator.name]}"
        letters = {"all": "a", "none": "bcd"}.get(fusion, fusion)
        letter = letters[number % len(letters)]
        groups[operator.name] = state if operator.key is not None or letter == "a" else letter
    return groups
