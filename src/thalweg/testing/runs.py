"""Run an application on a test's tuples: on an engine, by the reference, or under many plans."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Unpack

from thalweg.analysis.order_needs import ordered_sinks
from thalweg.api import check_engine, run_plan
from thalweg.engine.core.run import RunOptions, opened
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.engine.storage.log import Epoch
from thalweg.errors import TupleError
from thalweg.explain import cut_invariance
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.named_rows import row_class
from thalweg.ir.plan import Plan
from thalweg.ir.plan_options import PlanOptions
from thalweg.ir.text import print_plan
from thalweg.lang.app import App
from thalweg.load import by_value, with_params
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import closed, plan_run
from thalweg.testing.input_tuples import FedGraph, Inputs, fed, flat
from thalweg.testing.result import Result, Row
from thalweg.verify.check import compare, sample_plans
from thalweg.verify.compare import first_difference, in_any_order
from thalweg.verify.diagnose import first_divergence
from thalweg.verify.reference import Answer, Reference

Params = Mapping[str, object] | None


def run(
    app: App,
    inputs: Inputs,
    *,
    epochs: int | None = None,
    engine: str = "local",
    params: Params = None,
    against_reference: bool = True,
    **options: Unpack[PlanOptions],
) -> Result:
    """The output of the sinks for these tuples (by source). It is also compared with the reference's answer.

    A source's tuples are one epoch; in a list of lists, each list is an epoch; `epochs` cuts the tuples into that many.
    The other options are those of a plan, as in `tw.run`.
    """
    check_engine(engine)
    request = PlanRequest.of(**options)
    graph = _graph(app, params)
    with fed(graph, inputs, epochs) as given:
        plan = closed(plan_run(given.graph, request).plan)
        wanted = _outcome(given) if against_reference else None
        try:
            result = _run(plan, given, engine)
        except TupleError as error:
            if wanted is not None and not _same_error(wanted, error):
                raise AssertionError(f"the plan fails and the reference does not:\n{error}") from error
            raise
    if isinstance(wanted, TupleError):
        raise AssertionError(f"the reference fails and the plan does not:\n{wanted}")
    ordered = ordered_sinks(graph)
    for sink, rows in (wanted or {}).items():
        arranged = list if sink in ordered else in_any_order
        if (text := first_difference(arranged(rows), arranged(result[sink]))) is not None:
            raise AssertionError(f"the plan's answer differs from the reference's\nsink {sink}: {text}")
    return result


def reference(app: App, inputs: Inputs, *, epochs: int | None = None, params: Params = None) -> Result:
    """The answer of the reference, which processes one tuple at a time: slow and obviously correct."""
    with fed(_graph(app, params), inputs, epochs) as given:
        return _result(given.graph, Reference(given.graph).run(given.epochs))


def assert_plan_invariant(
    app: App, inputs: Inputs, *, epochs: int | None = None, plans: int = 24, seed: int = 0, params: Params = None
) -> None:
    """Run many plans on these tuples; raise an AssertionError for the first whose answer differs from the reference's.

    If the answer must not depend on the cuts between epochs, two of three plans run on different cuts of the tuples.
    """
    graph = _graph(app, params)
    cuts = (1, 3) if cut_invariance(graph)[0] else ()
    with ExitStack() as stack:
        given = stack.enter_context(fed(graph, inputs, epochs))
        logs = [given.epochs, *(stack.enter_context(fed(graph, flat(inputs), parts)).epochs for parts in cuts)]
        answer = Reference(given.graph).run(given.epochs)
        for number, plan in enumerate(sample_plans(given.graph, plans, seed)):
            _check(plan, list(logs[number % len(logs)]), answer)


def _graph(app: App, params: Params) -> LogicalGraph:
    return (with_params(app, params) if params else by_value(app)).graph()


def _outcome(given: FedGraph) -> Answer | TupleError:
    try:
        return Reference(given.graph).run(given.epochs)
    except TupleError as error:
        return error


def _same_error(wanted: Answer | TupleError, error: TupleError) -> bool:
    return isinstance(wanted, TupleError) and wanted.as_json() == error.as_json()


def _run(plan: Plan, given: FedGraph, engine: str) -> Result:
    """The engine runs the epochs in its log before it cuts new ones, so the test's log is written there first."""
    options = RunOptions(checkpoint=given.folder / "checkpoint", in_process=True)  # small, and easy to debug
    with opened(plan, options, engine, _labels(plan, engine)) as prepared:
        for epoch in given.epochs:
            if not (epoch.final and plan.graph.loops):  # feedback adds epochs before the final one
                prepared.checkpoint.log.append(epoch)
    reports: list[EpochReport] = []
    done = run_plan(plan, engine, options, reports.append)
    answer = {sink: [tuple(row) for row in done.tuples(sink)] for sink in done.collected}
    return _result(plan.graph, answer, [report.tuples_out for report in reports])


def _labels(plan: Plan, engine: str) -> tuple[int, ...]:
    if engine != "spark":
        return ()
    from thalweg.engine.spark.labels import balanced_labels

    return balanced_labels(plan.channels)


def _result(graph: LogicalGraph, answer: Answer, counts: list[dict[str, int]] | None = None) -> Result:
    classes = {sink.name: row_class(graph.type_of(sink.inputs[0]), Row) for sink in graph.sinks}
    return Result({name: [classes[name](row) for row in rows] for name, rows in answer.items()}, counts)


def _check(plan: Plan, log: list[Epoch], answer: Answer) -> None:
    difference = compare(plan, log, answer)
    if difference is None:
        return
    divergence = first_divergence(plan, log)
    begins = f"\n{divergence}" if divergence is not None else ""
    raise AssertionError(f"the answer depends on the plan\n{difference}{begins}\nunder the plan\n{print_plan(plan)}")
