"""Endpoints that only Spark can read or write."""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Sink, Source


def check_without_spark(graph: LogicalGraph) -> None:
    """Reject endpoints that need a Spark connector."""
    operators: tuple[Source | Sink, ...] = (*graph.sources, *graph.sinks)
    for operator in operators:
        if operator.endpoint.needs_spark:
            raise PlanError(
                f"{operator.endpoint.title} needs Spark",
                operator=operator.name,
                where=operator.where,
                expected="--engine spark",
                found="--engine local",
                hint="use thalweg.testing to run an application without its endpoints",
            )
