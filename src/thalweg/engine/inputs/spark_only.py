"""Endpoints that only Spark can read or write."""

from __future__ import annotations

from typing import Any

from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Sink, Source
from thalweg.ir.row_endpoints import ROWS, Kafka, RowSource, SparkFormat, SparkFrame
from thalweg.lang.secret import Secret


def shown(endpoint: RowSource) -> str:
    match endpoint:
        case SparkFormat(format=format):
            return f"the Spark format {format}"
        case SparkFrame():
            return "the DataFrame"
        case Kafka():
            return endpoint.shown


def revealed(options: tuple[tuple[str, Any], ...]) -> dict[str, str]:
    """Options as Spark is told them."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in options}


def check_without_spark(graph: LogicalGraph) -> None:
    """Refuse what needs a connector of Spark's."""
    operators: tuple[Source | Sink, ...] = (*graph.sources, *graph.sinks)
    for operator in operators:
        endpoint = operator.endpoint
        if isinstance(endpoint, ROWS):
            raise PlanError(
                f"{shown(endpoint)} needs Spark",
                operator=operator.name,
                where=operator.where,
                expected="--engine spark",
                found="--engine local",
                hint="thalweg.testing feeds an application without its endpoints",
            )
