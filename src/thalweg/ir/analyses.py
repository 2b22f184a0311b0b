"""The cached results of analyses of one graph. Each analysis is a pure function of the graph and runs once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from thalweg.ir.graph import LogicalGraph

P = ParamSpec("P")
T = TypeVar("T")


class Analyses:
    """Results by analysis and arguments. They live as long as their graph, which holds this object."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self._found: dict[tuple[Hashable, ...], Any] = {}

    def once(self, analysis: Callable[Concatenate[LogicalGraph, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """The result of the analysis for this graph and these arguments, computed on first use."""
        key = (analysis, arguments, tuple(options.items()))
        if key not in self._found:
            self._found[key] = analysis(self.graph, *arguments, **options)
        found: T = self._found[key]
        return found
