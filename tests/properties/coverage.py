"""What random cases reached, counted while they ran: a property test that goes blind must fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.properties.check import Outcome, Prepared
from thalweg.ir.operators import Aggregate, Sliding
from thalweg.runtime.container import Container
from thalweg.runtime.kernels import Fallback

seen: Counter[str] = Counter()


def count_case(test: str, prepared: Prepared, outcome: Outcome) -> None:
    plan, graph = prepared.plan, prepared.graph
    seen[f"cases of {test}"] += 1
    seen.update({f"operator {o.kind}" for o in graph.operators})
    seen.update({f"key {o.key and [graph.type_of(o.inputs[0]).get(a) for a in o.key]}" for o in graph.stateful})
    for operator in graph.operators:
        if isinstance(operator, Aggregate):
            seen["window sliding" if isinstance(operator.window, Sliding) else "window running"] += 1
            seen.update({f"fold {fold.kind}" for fold in operator.folds})
    facts = {
        "two sources": len(graph.sources) > 1,
        "two sinks": len(graph.sinks) > 1,
        "two stateful stages": len(plan.stages) > 2,
        "two stateful operators in one stage": _sharing(prepared),
        "two PEs in a stage": any(len(stage.pes) > 1 for stage in plan.stages),
        "degree 2 or more": plan.channels > 1,
        "more buckets than channels": plan.buckets > plan.channels,
        "several epochs": len(prepared.epochs) > 2,
        "tuples in a sink": any(outcome.answer.values()),
        "error": outcome.error is not None,
        "error after a whole epoch": outcome.error is not None and any(outcome.answer.values()),
    }
    seen.update(name for name, holds in facts.items() if holds)


def _sharing(prepared: Prepared) -> bool:
    by_name = prepared.graph.by_name
    return any(
        sum(by_name[name].key is not None for name in stage.pes[0].operators) > 1 for stage in prepared.plan.stages
    )


def watch(patch: pytest.MonkeyPatch) -> None:
    """Count which paths the container takes."""
    vector = Container._vector

    def counted_vector(self: Container, function: Any, frame: Any) -> Any:
        result = vector(self, function, frame)
        seen["kernel" if result is not None else "row path" if function is None else "fallback"] += 1
        return result

    patch.setattr(Container, "_vector", counted_vector)
    patch.setattr(Container, "_aggregate_rows", _counted(Container._aggregate_rows, "aggregate fallback"))
    patch.setattr(Container, "_field_rows", _counted(Container._field_rows, "aggregate field fallback"))
    patch.setattr(Container, "_fail", _counted(Container._fail, "failed tuple"))
    aggregate = Container.aggregate

    def counted_aggregate(self: Container, *arguments: Any) -> Any:
        seen["aggregate frame"] += arguments[1] is not None
        return aggregate(self, *arguments)

    patch.setattr(Container, "aggregate", counted_aggregate)


def _counted(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    def counting(*arguments: Any) -> Any:
        seen[name] += 1
        return method(*arguments)

    return counting


__all__ = ["Fallback", "count_case", "seen", "watch"]
