"""What random cases reached, counted while they ran: a property test that goes blind must fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import pytest

from tests.amount import EXPLORE
from tests.properties.check import Outcome, Prepared
from tests.properties.looped import VARIANTS
from tests.properties.strategies import KINDS
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.logic import wakes_at
from thalweg.ir.operators import Aggregate, EventTime, Feedback, Pace, Process, Source, Union
from thalweg.ir.origins import origin_parts
from thalweg.ir.times import from_time
from thalweg.library import window_aggregate
from thalweg.library.arrival import in_order
from thalweg.library.fold_spec import WholeWindow, WindowBound
from thalweg.library.folds import FOLDS
from thalweg.library.multi_port import LeastTime
from thalweg.library.select import Code, Dedup
from thalweg.library.sorting import SortBy, SortedBuffer, TopK
from thalweg.library.windows import WINDOWS
from thalweg.runtime import aggregate
from thalweg.runtime import pane_folds as folds_of_panes
from thalweg.runtime.failed_tuples import FailedTuples
from thalweg.runtime.logic_operator import ProcessRun
from thalweg.runtime.pane_folds import pane_folds
from thalweg.runtime.pe import PE
from thalweg.runtime.records import ObjectTable
from thalweg.runtime.window_operators import WindowRun

CODE = ("custom", "operator")
IN_COLUMNS = [k for k, spec in FOLDS.items() if spec.kernel is not None or isinstance(spec.scalar, WindowBound)]
seen: Counter[str] = Counter()

MUST_BE_SEEN = (
    *(f"operator {k}" for k in ("source", "map", "filter", "flatmap", "split", "union", "aggregate", "join", "sink")),
    *(f"operator {k}" for k in ("eventtime", "punctor", "randomsplit", "mapbatches", "pace", "marks", "operator")),
    *(f"operator {k}" for k in ("sort", "top_k", "skyline", "apply", "dedup", "lookup", "custom", "pair", "barrier")),
    *(
        "operator loop",
        "operator feedback",
        "operator merge_ordered",
        "late tuples",
        "dead letters",
        "tuples at the end",
        "marks of several streams",
        "event time of several origins",
        "event time of several sources",
        "event time of several shards",
        "event time of splits that were found",
        "event time of a loop",
        "a union of event times",
        "an operator between a union and event_time",
        "a chained window by time",
        "an idle origin",
        "an idle origin that comes back",
        "a split that is found later",
    ),
    *("forgotten by a function", "forgotten by a class", "forgotten by dedup", "sleeping keys"),
    *(f"logic {k}Aggregate" for k in ("Running", "Tumbling", "Sliding", "Punctuated", "EventTime")),
    *(f"logic {k}Apply" for k in ("Running", "Tumbling", "Sliding", "Punctuated", "EventTime")),
    *("logic WindowJoin", "logic TimedWindowJoin", "policy skip", "policy dead_letter", "skipped tuples"),
    *(f"{k} {p}" for k in ("aggregate", "apply", "join", "mapbatches", "custom") for p in ("skip", "dead_letter")),
    *("throttle", "sort descending", "sort mixed", "sorted buffer mixed", "top_k least", "top_k mixed"),
    *(f"fold {k} in Python" for k in FOLDS),
    *(f"fold {k}" for k, spec in FOLDS.items() if spec.kernel is not None),
    *("fold min of str", "fold max of str"),
    *(
        f"fold {k} in shared panes in Python"
        for k, spec in FOLDS.items()
        if spec.by_arrival or isinstance(spec.scalar, WholeWindow)
    ),
    *(f"fold {k} in{panes} columns" for k in IN_COLUMNS for panes in ("", " shared panes in")),
    *("late tuples in columns", "a result at a mark that fails"),
    *("an argument in panes that fails", "marks between tuples", "a mark that is not the first of its position"),
    "shared panes out of order",
    *(f"key {k}" for k in ("", "str", "int", "float", "bool", "str int", "float str bool")),
    *(f"window {kind.__name__}" for kind in WINDOWS),
    *(f"kernel window {kind.__name__}" for kind in WINDOWS if kind.has_kernel),
    *(
        "chain kernel",
        "chain fallback",
        "kernel",
        "row path",
        "fallback",
        "aggregate kernel",
        "aggregate fallback",
        "aggregate field fallback",
    ),
    *("two sources", "two sinks", "two PEs in a stage", "several epochs", "tuples in a sink"),
    *("in turn", "by a part of the key", "stateless by key", "read in one channel", "8 channels", "an unordered sink"),
    *(f"rules {rules}" for rules in ("thalweg", "paper")),
    *(f"hint {hint}" for hint in ("parallel", "degree", "key", "sequential", "fuse_with", "isolate", "unordered")),
    "code that keeps nothing",
    *("refused plans", "plans by hand"),
    *("keys by table", "two operators by one table in one stage", "several tables"),
    *("two stateful stages", "two stateful operators in one stage", "degree 2 or more", "more buckets than channels"),
    *(f"source {k}" for k in (*KINDS, "failing_beacon")),
    *("several segments", "brackets", "through bytes", "one row per frame"),
    *("error", "error after a whole epoch", "failed tuple"),
    *(f"made in a loop: {variant}" for variant in VARIANTS),
)


def count_case(test: str, prepared: Prepared, outcome: Outcome) -> None:
    plan, graph = prepared.plan_with_ports, prepared.graph
    seen[f"cases of {test}"] += 1
    seen.update({f"operator {o.kind}" for o in graph.operators})
    seen.update({f"source {prepared.case.kind(number)}" for number in range(len(graph.sources))})
    for stateful in graph.stateful:
        kinds = dict(graph.type_of(stateful.inputs[0]).attributes)
        seen["key " + " ".join(str(kinds[name]) for name in stateful.key or ())] += 1
    for operator in graph.operators:
        seen[f"policy {operator.on_error}"] += 1
        seen[f"{operator.kind} {operator.on_error}"] += 1
        seen["throttle"] += isinstance(operator, Pace) and operator.rate_per_s is not None
        if isinstance(operator, Process):
            seen[f"logic {type(operator.logic).__name__}"] += 1
            seen["marks of several streams"] += operator.word == "marks"
            config = getattr(operator.logic, "config", None)
            seen["a chained window by time"] += getattr(getattr(config, "window", None), "of_ends", False)
            seen["a union of event times"] += isinstance(operator.logic, LeastTime) and len(operator.inputs) > 1
            seen[f"window {type(getattr(config, 'window', None)).__name__}"] += 1
            how = "Python" if pane_folds(operator) is None else "columns"
            folds = {f"fold {fold.kind} in" for fold in getattr(config, "folds", ())}
            seen.update(f"{fold} {how}" for fold in folds)
            if getattr(getattr(config, "window", None), "shares_panes", False):
                seen.update(f"{fold} shared panes in {how}" for fold in folds)
            match getattr(config, "function", None):
                case SortBy(descending=descending):
                    seen["sort mixed" if len({*descending}) > 1 else "sort descending"] += any(descending)
                case TopK(order=SortBy(descending=descending)):
                    seen["top_k mixed" if len({*descending}) > 1 else "top_k least"] += not all(descending)
            if isinstance(operator.logic, SortedBuffer):
                seen["sorted buffer mixed"] += len({*operator.logic.config[1].descending}) > 1
        if isinstance(operator, EventTime) and operator.by_origin:
            _count_origins(graph, operator)
        if isinstance(operator, Aggregate):
            seen[f"kernel window {type(operator.window).__name__}"] += 1
            seen.update({f"fold {fold.kind}" for fold in operator.folds})
            seen.update({f"fold {fold.kind} of {fold.type}" for fold in operator.folds})
    for hint in plan.graph.hints.values():
        said = {f.name: getattr(hint, f.name) for f in fields(hint) if f.name != "where"}
        seen.update(f"hint {name}" for name, value in said.items() if value)
    seen[f"rules {prepared.case.choice.rules}"] += 1
    seen.update(f"made in a loop: {node.arguments[0]}" for node in prepared.case.nodes if node.kind == "looped")
    routed = [(graph.by_name[name], port, wire.route) for (name, port), wire in layout(plan).wire_of.items()]
    planned = [] if plan.channels == 1 else plan.graph.operators
    facts = {
        "in turn": any(r.key == () and r.degree > 1 for _, _, r in routed),
        "by a part of the key": any(r.key and len(r.key) < len(o.port_key(p) or ()) for o, p, r in routed),
        "stateless by key": any(r.key and o.key is None for o, _, r in routed),
        "read in one channel": plan.reads_in_one and plan.channels > 1,
        "8 channels": plan.channels == 8,
        "an unordered sink": len(ordered_sinks(plan.graph)) < len(graph.sinks),
        "code that keeps nothing": any(isinstance(o, Process) and o.word in CODE and o.by is None for o in planned),
        "two sources": len(graph.sources) > 1,
        "two sinks": len(graph.sinks) > 1,
        "two stateful stages": len(layout(plan).stages) > 2,
        "two stateful operators in one stage": _sharing(prepared),
        "two PEs in a stage": any(len(stage.pes) > 1 for stage in layout(plan).stages),
        "degree 2 or more": plan.channels > 1,
        "more buckets than channels": plan.buckets > plan.channels,
        "keys by table": any(wire.route.table for wire in layout(plan).wires),
        "two operators by one table in one stage": _sharing(prepared) and len(set(plan.tables.values())) == 1,
        "several tables": len({wire.route.table for wire in layout(plan).wires} - {None}) > 1,
        "several epochs": len(prepared.epochs) > 2,
        "several segments": any(plan.decisions[o].ports for pe in layout(plan).pes.values() for o in pe.operators[1:]),
        "brackets": prepared.case.choice.bracketed,
        "through bytes": prepared.case.choice.through_bytes,
        "one row per frame": plan.frame_rows == 1,
        "tuples in a sink": any(outcome.answer.values()),
        "skipped tuples": any(outcome.counts.skipped.values()),
        "error": outcome.error is not None,
        "error after a whole epoch": outcome.error is not None and any(outcome.answer.values()),
    }
    seen.update(name for name, holds in facts.items() if holds)


def assert_reached(facts: Iterable[str], reached: Counter[str], *, enough: bool) -> None:
    """Fails for facts that no case reached. Fixed cases reach them or do not; with new ones it would be chance."""
    if EXPLORE:
        pytest.skip("new cases at every run: only those of `make test`, which are fixed, are judged by their reach")
    if not enough:
        pytest.skip("too few cases ran to judge their reach")
    missing = [fact for fact in facts if not reached[fact]]
    assert missing == [], missing


def _count_origins(graph: LogicalGraph, operator: EventTime) -> None:
    above = [operator.inputs[0].operator]
    for name in above:
        above += [s.operator for s in graph.by_name[name].inputs]
    entries = [graph.by_name[name] for name in set(above) if not graph.by_name[name].inputs]
    seen["event time of several origins"] += 1
    seen["event time of several sources"] += sum(isinstance(e, Source) for e in entries) > 1
    seen["event time of several shards"] += any(isinstance(e, Source) and e.origins > 1 for e in entries)
    seen["event time of splits that were found"] += any(isinstance(e, Source) and e.finds_splits for e in entries)
    seen["event time of a loop"] += any(isinstance(e, Feedback) for e in entries)
    between = graph.by_name[operator.inputs[0].operator]
    seen["an operator between a union and event_time"] += bool(between.inputs) and not isinstance(between, Union)


def _sharing(prepared: Prepared) -> bool:
    by_name, stages = prepared.plan.graph.by_name, layout(prepared.plan).stages
    return any(sum(by_name[name].key is not None for name in stage.pes[0].operators) > 1 for stage in stages)


def watch(patch: pytest.MonkeyPatch) -> None:
    """Count which paths the PEs take."""
    vector = PE._vector

    def counted_vector(self: PE, name: str, function: Any, frame: Any) -> Any:
        result = vector(self, name, function, frame)
        seen["kernel"] += bool(len(result.rows))
        seen["row path" if function is None else "fallback"] += bool(len(result.rest))
        seen["tuples that fail alike"] += bool(result.like)
        return result

    called = ObjectTable.called

    def counted_call(self: ObjectTable, record: Any) -> None:
        called(self, record)
        if record.logic._forgotten:
            seen["forgotten by a function" if isinstance(record.logic, Code) else "forgotten by a class"] += 1
        seen["forgotten by dedup"] += isinstance(record.logic, Dedup) and record.is_over
        seen["sleeping keys"] += wakes_at(record.logic) > (record.logic.now or 0)

    patch.setattr(ObjectTable, "called", counted_call)
    framed, letters = ProcessRun._frame, PE.dead_letters

    def counted_frame(self: ProcessRun, port: int, order: Any, end: int | None) -> Any:
        frame = framed(self, port, order, end)
        if frame is not None:
            late = self.operator.timed and 0 < port < self.operator.results and self.operator.kind != "operator"
            seen["late tuples"] += late
            seen["dead letters"] += port == self.operator.dead_port
            seen["tuples at the end"] += end is not None
        return frame

    def counted_letters(self: PE, *arguments: Any) -> Any:
        frame = letters(self, *arguments)
        seen["dead letters"] += frame is not None
        return frame

    patch.setattr(ProcessRun, "_frame", counted_frame)
    patch.setattr(PE, "dead_letters", counted_letters)

    def counted_order(lists: Any, numbers: Any) -> Any:
        seen["shared panes out of order"] += numbers != sorted(numbers)
        return in_order(lists, numbers)

    def counted_bound(time: int, kind: Any, zone: Any) -> Any:
        seen[f"bound with zone {zone}"] += 1
        return from_time(time, kind, zone)

    patch.setattr(window_aggregate, "in_order", counted_order)
    patch.setattr(window_aggregate, "from_time", counted_bound)
    patch.setattr(folds_of_panes, "from_time", counted_bound)
    add, fail, values = WindowRun._add, WindowRun._fail, WindowRun._values

    def counted_add(self: WindowRun, frame: Any, values: Any, marks: Any, *, ends: bool) -> Any:
        found = add(self, frame, values, marks, ends=ends)
        seen["late tuples in columns"] += found[0] is not None
        places = marks.places(frame, self.width)
        seen["marks between tuples"] += bool(((places > 0) & (places < len(frame))).any())
        firsts = frame.position.searchsorted(marks.frame.position) if len(marks) else places
        seen["a mark that is not the first of its position"] += bool((firsts < places).any())
        return found

    def counted_values(self: WindowRun, frame: Any) -> Any:
        found = values(self, frame)
        seen["an argument in panes that fails"] += len(found[0]) < len(frame)
        return found

    patch.setattr(WindowRun, "_add", counted_add)
    patch.setattr(WindowRun, "_values", counted_values)
    patch.setattr(WindowRun, "_fail", _counted(fail, "a result at a mark that fails"))

    chain = PE.chain

    def counted_chain(self: PE, turn: Any, names: Any, frame: Any, kernel: Any) -> Any:
        result = chain(self, turn, names, frame, kernel)
        seen["chain fallback" if result is PE.FELL_BACK else "chain kernel"] += frame is not None
        return result

    take, is_idle = LeastTime.process, LeastTime._is_idle

    def counted_take(self: LeastTime, t: Any, port: int) -> None:
        number = origin_parts(getattr(t, "origin", 0))
        origin = self.config.origins.get((port, number.entry))
        if origin is not None and self.since is not None and self.now is not None:
            name = f"{origin.name}/{number.split}" if origin.finds_splits else origin.name
            back = name in self.heard and is_idle(self, name, origin.idle, self.now)
            seen["an idle origin that comes back"] += back
            seen["a split that is found later"] += origin.name in self.splits and name not in self.heard
        take(self, t, port)

    def counted_idle(self: LeastTime, name: Any, idle: Any, epoch: int) -> bool:
        found = is_idle(self, name, idle, epoch)
        seen["an idle origin"] += found
        return found

    patch.setattr(LeastTime, "process", counted_take)
    patch.setattr(LeastTime, "_is_idle", counted_idle)
    patch.setattr(PE, "_vector", counted_vector)
    patch.setattr(PE, "chain", counted_chain)
    patch.setattr(PE, "_aggregate_rows", _counted(PE._aggregate_rows, "aggregate fallback"))
    patch.setattr(PE, "_field_rows", _counted(PE._field_rows, "aggregate field fallback"))
    patch.setattr(FailedTuples, "add", _counted(FailedTuples.add, "failed tuple"))
    patch.setattr(aggregate, "emitting", _counted(aggregate.emitting, "aggregate kernel"))


def _counted(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    def counting(*arguments: Any) -> Any:
        seen[name] += 1
        return method(*arguments)

    return counting
