"""Warnings about operators in one channel: the reason in the user's code, and a declaration that helps."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from tests.analysis.corpus import CASES
from tests.analysis.corpus.base import Case, Out
from tests.analysis.test_corpus import NAMES, graph_of
from tests.small import thalweg
from thalweg import window
from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.form_regions import form_regions
from thalweg.analysis.suggest_declarations import one_channel_warnings, suggestions
from thalweg.analysis.unused_state import settled
from thalweg.errors import PlanError, ThalwegWarning
from thalweg.ir.facts import HIDDEN_STATE
from thalweg.ir.graph import LogicalGraph
from thalweg.lang.app import App, Stream
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import plan_run

UNKNOWN = [(c, name) for c, name in zip(CASES, NAMES, strict=True) if c.state == "unknown"]


def copied(code: Any) -> Any:
    """A function of its own: a declaration is an attribute of the function."""
    if isinstance(code, tuple):
        return copied(code[0]), *code[1:]
    if not isinstance(code, types.FunctionType):
        return lambda *given: code(*given)
    made = types.FunctionType(code.__code__, code.__globals__, code.__name__, code.__defaults__, code.__closure__)
    made.__dict__.update(code.__dict__)
    made.__kwdefaults__ = code.__kwdefaults__
    return made


def declared(code: Any, line: str) -> Any:
    declaration = eval(line, {"tw": tw})
    return (declaration(code[0]), *code[1:]) if isinstance(code, tuple) else declaration(code)


def test_a_degree_by_name_is_refused_with_the_same_line() -> None:
    def opaque(t: Any) -> Any:
        exec("pass")
        return t

    app = tw.App("opaque")
    app.source(tw.iterable([Out("a", 1)]), Out).map(opaque, Out, name="op").sink(tw.none())
    graph = app.graph()
    with pytest.raises(PlanError, match="op cannot have degree 2") as refused:
        make_plan(graph, degree={"op": 2})
    assert refused.value.hint == str(suggestions(graph, graph.by_name["op"])[0])


@pytest.mark.parametrize(("case", "name"), UNKNOWN, ids=[name for _, name in UNKNOWN])
def test_each_reason_of_the_analysis(case: Case, name: str) -> None:
    """The suggested line, as it is, makes the operator parallel."""
    graph = graph_of(case, case.code)
    if facts_of(graph)["op"].has(*HIDDEN_STATE):
        return  # such a graph is refused
    found = suggestions(graph, graph.by_name["op"])
    (text,) = one_channel_warnings(graph, "thalweg", 2)
    assert text.startswith("op runs in one channel, not in 2: it may keep state: ")
    assert f"{Path(__file__).parent}" in text, "the user's file and line"
    assert "tw.declare(state=" in text
    helped = settled(graph_of(case, declared(copied(case.code), found[0].line)))
    assert list(one_channel_warnings(helped, "thalweg", 2)) == []
    assert form_regions(helped, "thalweg").verdicts["op"].parallel


class Number(tw.Tuple):
    k: str
    a: int
    b: int


OFFSET = np.float64(3.0)


def minus(t: Any, state: Any, submit: Any) -> None:
    submit({"k": t.k, "a": OFFSET - t.b})


def source(app: App, name: str = "rows") -> Stream:
    return app.source(tw.files("nowhere", format="parquet"), Number, name=name)


def graph_with(function: Any) -> LogicalGraph:
    app = tw.App("one")
    source(app).custom(function, Out, by="k", state=0, name="op").sink(tw.none(), name="out")
    return app.graph()


def test_the_expression_and_the_operand_are_named() -> None:
    (text,) = one_channel_warnings(graph_with(minus), "thalweg", 2)
    line = minus.__code__.co_firstlineno
    assert f"uses `OFFSET - t.b`, an operator of float64 whose code cannot be analyzed, {__file__}:{line + 1}" in text
    assert text.endswith(
        "; if its result depends only on the tuple and on the state of its key, "
        f"write @tw.declare(state=('k',)) above minus, line {line}"
    )


@pytest.mark.parametrize("degree", [1, 2])
def test_only_if_more_channels_were_asked_for(degree: int) -> None:
    graph = graph_with(minus)
    if degree == 1:
        plan_run(graph, PlanRequest.of(degree=1))
        return
    with pytest.warns(ThalwegWarning, match="op runs in one channel, not in 2: it may keep state"):
        plan_run(graph, PlanRequest.of(degree=2))


def test_not_if_it_is_declared_or_asked_for() -> None:
    app = tw.App("one")
    source(app).custom(tw.declare(state="unknown")(copied(minus)), Out, by="k", state=0, name="op").sink(
        tw.none(), name="out"
    )
    assert list(one_channel_warnings(app.graph(), "thalweg", 2)) == []
    app = tw.App("one")
    made = source(app).custom(copied(minus), Out, by="k", state=0, name="op")
    made.sequential().sink(tw.none(), name="out")
    assert list(one_channel_warnings(app.graph(), "thalweg", 2)) == []


class Pairs(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit({"k": "x", "a": OFFSET - 1})


def test_operator_classes_with_and_without_a_key() -> None:
    app = tw.App("classes")
    a, b = source(app, "a"), source(app, "b")
    (one,) = tw.operator(Pairs(), a, b, by="k", into=[Out], name="one")
    (two,) = tw.operator(Pairs(), a, b, by=["k", "a"], into=[Out], name="two")
    (none,) = tw.operator(Pairs(), a, into=[Out], name="none")
    for number, made in enumerate((one, two, none)):
        made.sink(tw.none(), name=f"out{number}")
    graph = app.graph()
    lines = {name: suggestions(graph, graph.by_name[name])[0].line for name in ("one", "two", "none")}
    assert lines == {
        "one": "tw.declare(state=('k',))",
        "two": "tw.declare(state=('k', 'a'))",
        "none": 'tw.declare(state="stateless")',
    }
    for text in one_channel_warnings(graph, "thalweg", 2):
        assert "above class Pairs" in text


def test_functions_inside_other_operators() -> None:
    """Of an apply and of a join, the function itself is declared."""

    def first(rows: list[Any]) -> Any:
        return [rows[int(OFFSET - 3)]]

    app = tw.App("inside")
    rows = source(app)
    rows.apply(window.tumbling(count=2, by="k"), first, Number, name="op").sink(tw.none(), name="out")
    (found,) = suggestions(app.graph(), app.graph().by_name["op"])
    assert found.line == 'tw.declare(state="stateless")'
    assert getattr(found.code, "__code__", None) is first.__code__
    app = tw.App("inside")
    tw.declare(state="stateless")(first)
    source(app).apply(window.tumbling(count=2, by="k"), first, Number, name="op").sink(tw.none(), name="out")
    assert list(one_channel_warnings(app.graph(), "thalweg", 2)) == []


def test_the_rules_of_the_paper_need_the_number_of_tuples() -> None:
    """After the state is declared, what remains unknown is how many tuples it emits."""

    def several(t: Any) -> Any:
        return [t] * int(OFFSET)

    def graph(function: Any) -> LogicalGraph:
        app = tw.App("paper")
        source(app).flat_map(function, Number, name="op").sink(tw.none(), name="out")
        return app.graph()

    (text,) = one_channel_warnings(graph(tw.declare(state="stateless")(several)), "paper", 2)
    assert "if it emits at most one tuple for each, write @tw.declare(selectivity=(0, 1)) above several" in text
    helped = graph(tw.declare(state="stateless", selectivity=(0, 1))(several))
    assert list(one_channel_warnings(helped, "paper", 2)) == []


APP = """
import numpy as np

import thalweg as tw

class Row(tw.Tuple):
    k: str
    a: int

class Out(tw.Tuple):
    k: str
    d: float

PASTE
def diff(t, state, submit):
    rest = OFFSET - t.a
    submit({"k": t.k, "d": rest.item()})
    return t.a

OFFSET = np.float64(3.0)
app = tw.App("one")
rows = app.source(tw.files("in", format="jsonl"), Row)
d = rows.custom(diff, Out, by="k", state=0)
d.sink(tw.none(), name="out")
"""


@pytest.mark.slow
def test_the_line_can_be_pasted_and_check_agrees(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text("".join(f'{{"k": "{k}", "a": {a}}}\n' for a, k in enumerate("xyzxyz")))
    (tmp_path / "app.py").write_text(APP.replace("PASTE", "# not declared"))
    command = ("run", "app.py", "--engine", "local", "--degree", "2")
    done = thalweg(*command, cwd=tmp_path)
    said = " ".join(done.stderr.split())
    assert "warning: d runs in one channel, not in 2: it may keep state: uses `OFFSET - t.a`" in said
    (line,) = [word for word in said.split() if word.startswith("@tw.declare")]
    events = [json.loads(line) for line in thalweg(*command, "--json", cwd=tmp_path).stdout.splitlines()]
    (message,) = [e["message"] for e in events if e["event"] == "warning"]
    assert message.replace(f"{tmp_path}/", "") == said.removeprefix("warning: "), "in JSON, paths are complete"
    (tmp_path / "app.py").write_text(APP.replace("PASTE", line))
    done = thalweg(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    plan = next(e for e in map(json.loads, thalweg(*command, "--json", cwd=tmp_path).stdout.splitlines()))["plan"]
    assert {o["name"]: o["degree"] for o in plan["operators"]}["d"] == 2
    assert thalweg("check", "app.py", cwd=tmp_path).returncode == 0
