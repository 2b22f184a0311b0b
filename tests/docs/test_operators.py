"""Every example of docs/operators.md gives what the page shows: on both engines and by the reference.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/docs, then read the diff.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.docs.pages import Example, graph_of, headings, read_page
from tests.docs.sink_text import shown
from thalweg import window
from thalweg.endpoints.collect import Collect
from thalweg.endpoints.feed import Feed
from thalweg.endpoints.files import Files
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.explain import cut_invariance
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.plan import Plan
from thalweg.library.folds import CONSTRUCTORS, FOLDS
from thalweg.library.windows import JOIN_WINDOWS, WINDOWS
from thalweg.optimize.passes import make_plan
from thalweg.verify.compare import first_difference
from thalweg.verify.reference import Reference

PAGE = read_page("operators.md")
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"
QUERIES = 1

each_example = pytest.mark.parametrize("example", PAGE.examples, ids=lambda e: e.name)


def graph_in(folder: Path, example: Example) -> LogicalGraph:
    """In the example's own folder, where the one before it has run if this one imports what that one exports."""
    PAGE.write_inputs(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THALWEG_EXPORTS", str(folder / "exports"))
        if ".imported(" in example.code:
            exporting = PAGE.examples[PAGE.examples.index(example) - 1]
            run(make_plan(graph_of(PAGE.write_example(exporting, folder))), folder / "exporting")
        return graph_of(PAGE.write_example(example, folder))


def run(plan: Plan, checkpoint: Path, per_epoch: int = 1000) -> RunResult:
    return run_local(
        plan,
        RunOptions(checkpoint, max_tuples_per_epoch=per_epoch, overwrite=True, in_process=True),
        lambda report: None,
    )


def page_text(graph: LogicalGraph, result: RunResult) -> str:
    return shown(graph, {name: result.tuples(name) for name in result.collected}, folders_of(graph))


def folders_of(graph: LogicalGraph) -> dict[str, Path]:
    files = {s.name: s.endpoint for s in graph.sinks if isinstance(s.endpoint, Files)}
    return {name: Path(endpoint.path) for name, endpoint in files.items() if not endpoint.exported}


def collecting(graph: LogicalGraph) -> list[Sink]:
    return [s for s in graph.sinks if isinstance(s.endpoint, Collect)]


@each_example
def test_local(tmp_path: Path, example: Example) -> None:
    """What the page shows; the same from other plans, and, where they may not matter, from other cuts."""
    graph = graph_in(tmp_path, example)
    first, second = tmp_path / "first", tmp_path / "second"
    plain = run(make_plan(graph), first)
    assert example.output, "the page shows nothing"
    assert page_text(graph, plain) == example.output
    expected = Reference(graph).run(Checkpoint(first).log)
    other = run(make_plan(graph, degree=3, fuse="none"), second, 3 if cut_invariance(graph)[0] else 1000)
    for sink in plain.collected:
        assert first_difference(expected[sink], plain.tuples(sink)) is None, sink
        assert first_difference(expected[sink], other.tuples(sink)) is None, sink


@pytest.mark.skipif(not UPDATE, reason="writes the outputs of the page anew")
def test_update(tmp_path: Path) -> None:
    outputs = {}
    for number, example in enumerate(PAGE.examples):
        graph = graph_in(tmp_path / str(number), example)
        outputs[example.name] = page_text(graph, run(make_plan(graph), tmp_path / str(number) / "checkpoint"))
    PAGE.file.write_text(PAGE.with_outputs(outputs))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("query", range(QUERIES))
def test_spark(tmp_path: Path, query: int) -> None:
    """A query costs seconds, so several examples stand side by side in one."""
    from thalweg.engine.spark.run import run_spark

    # Chance looks at a tuple's position, which counts the tuples of all sources before: such an example comes first.
    examples = sorted(PAGE.examples[query::QUERIES], key=lambda e: "split_randomly" not in e.code)
    assert sum("split_randomly" in e.code for e in examples) <= 1
    graphs = {e.name: prefixed(graph_in(tmp_path / e.name, e), f"{e.name}.") for e in examples}
    together = LogicalGraph("examples", tuple(o for graph in graphs.values() for o in graph.operators))
    plan = make_plan(together, degree=2)
    options = RunOptions(tmp_path / "checkpoint", max_tuples_per_epoch=1000 * len(together.sources))
    result = run_spark(plan, options, lambda report: None)
    log = list(Checkpoint(tmp_path / "checkpoint").log)
    assert sum(bool(epoch.chunks) for epoch in log) == 1, "all in one epoch, as the page shows it"
    for example in examples:
        graph = graphs[example.name]
        answer = {s.name: unprefixed(result.tuples(s.name), f"{example.name}.") for s in collecting(graph)}
        assert shown(graph, answer, folders_of(graph)).replace(f"{example.name}.", "") == example.output, example.name


def unprefixed(rows: Sequence[tuple[Any, ...]], prefix: str) -> Sequence[tuple[Any, ...]]:
    """Dead letters hold operators' names."""
    return [tuple(v.removeprefix(prefix) if isinstance(v, str) else v for v in row) for row in rows]


def prefixed(graph: LogicalGraph, prefix: str) -> LogicalGraph:
    """The graph under names that no other graph has."""
    return LogicalGraph(graph.name, tuple(_prefixed(o, prefix) for o in graph.operators))


def _prefixed(operator: Operator, prefix: str) -> Operator:
    inputs = tuple(StreamRef(prefix + s.operator, s.port) for s in operator.inputs)
    if isinstance(operator, Sink) and isinstance(operator.endpoint, Feed):
        operator = replace(operator, endpoint=Feed(prefix + operator.endpoint.into))
    return replace(operator, name=prefix + operator.name, inputs=inputs)


def public(*owners: object) -> list[str]:
    """The functions that modules, or a class with its bases, offer to users."""
    return [name for owner in owners for name in _functions(owner) if name[0] != "_" and name not in NOT_FOR_USERS]


def _functions(owner: object) -> list[str]:
    found = inspect.getmembers(owner, inspect.isfunction)
    return [name for name, f in found if not inspect.ismodule(owner) or f.__module__ == owner.__name__]


NOT_FOR_USERS = {"names", "with_late", "graph"}  # helpers of the language's own modules
FOLDER = "thalweg.endpoints."
ENDPOINTS = [n for n in dir(tw) if inspect.isfunction(f := getattr(tw, n)) and f.__module__.startswith(FOLDER)]
# docs/spark.md and docs/language.md have the examples; those without external services are run by other tests.
ELSEWHERE = {
    "to_dataframe",
    "start",
    "tcp",
    "kafka",
    "spark",
    "from_dataframe",
    "postgres",
    "console",
    "none",
    "seeded",
}


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (public(tw.Stream), r"\bs\.{}\("),
        (public(tw.App), r"\bapp\.{}\("),
        (ENDPOINTS, r"\btw\.{}\("),
        (list(CONSTRUCTORS), r"\bagg\.{}\("),
        (public(window), r"\bwindow\.{}\("),
    ],
    ids=["Stream", "App", "endpoints", "agg", "window"],
)
def test_everything_is_in_the_tables(names: list[str], pattern: str) -> None:
    rows = "\n".join(line for line in PAGE.text.splitlines() if line.startswith("| "))
    code = "\n".join(e.code for e in PAGE.examples)
    assert len(names) >= 4
    assert [n for n in names if not re.search(pattern.format(n), rows)] == [], "not in a table"
    assert [n for n in names if n not in ELSEWHERE and not re.search(rf"\.{n}\(", code)] == [], "not in an example"


def test_all_windows_are_in_the_table() -> None:
    rows = [line for line in PAGE.text.splitlines() if line.startswith("| [`window.")]
    written = [w.written for w in WINDOWS] + [w.written for w in JOIN_WINDOWS]
    assert len(rows) == len(written)
    assert [text for text in written if not any(f"`{text}`" in row for row in rows)] == []


def test_the_page_names_the_folds_that_depend_on_order() -> None:
    named = re.search(r"The values of ([^;]*) depend on the order of the tuples;", PAGE.text)
    assert named is not None
    assert re.findall(r"`(\w+)`", named[1]) == sorted(name for name, spec in FOLDS.items() if spec.ordered)


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(#([^)]*)\)", PAGE.text)
    assert len(targets) > 50
    assert set(targets) <= set(headings(PAGE.text))
