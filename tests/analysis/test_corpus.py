"""Facts of a corpus of small user functions and classes: each as expected, and none stateless that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.analysis.corpus import CASES
from tests.analysis.corpus.base import Case, In, Out
from tests.analysis.corpus.hidden_state import global_counter
from tests.analysis.corpus.with_state import MULTI
from thalweg.analysis.derive_facts import facts_of
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph


def graph_of(case: Case, code: Any) -> LogicalGraph:
    app = tw.App("corpus")
    numbers = app.source(tw.files("nowhere", format="parquet"), In, name="numbers")
    match case.kind:
        case "map":
            made = numbers.map(code, Out, name="op")
        case "filter":
            made = numbers.filter(code, name="op")
        case "flat_map":
            made = numbers.flat_map(code, Out, name="op")
        case "split":
            made, other = numbers.split(code, 2, name="op")
            other.sink(tw.none(), name="other")
        case "custom":
            function, state = code if isinstance(code, tuple) else (code, None)
            made = numbers.custom(function, Out, by=case.by or None, state=state, name="op")
    made.sink(tw.none(), name="out")
    return app.graph()


def facts(case: Case) -> Facts:
    return facts_of(graph_of(case, case.code))["op"]


def state_of(found: Facts) -> Any:
    if found.state.kind != "partitioned":
        return found.state.kind
    return found.state.by[0] if found.state.has_key else "one"


NAMES = [
    f"{i}-{getattr(c.code[0] if isinstance(c.code, tuple) else c.code, '__name__', type(c.code).__name__)}"
    for i, c in enumerate(CASES)
]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_facts(case: Case) -> None:
    found = facts(case)
    assert state_of(found) == case.state, f"{found.state.because}; {[str(e) for e in found.effects]}"
    assert {e.kind for e in found.effects} == case.effects, [str(e) for e in found.effects]
    one = found.selectivity[0]
    assert (one.least, one.most) == case.selectivity
    assert found.reads[0] == case.reads
    assert {name for name, origin in found.forwards[0][0].items() if name == origin} == case.forwards
    if case.why:
        assert any(case.why in text for text in (str(found.state.because), *map(str, found.effects)))
    for effect in found.effects:
        assert Path(effect.reason.where.file).is_relative_to(Path(__file__).parent), effect


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) + len(MULTI) >= 100


@pytest.mark.parametrize(("code", "selectivity", "forwards"), MULTI)
def test_several_ports(code: Any, selectivity: Any, forwards: Any) -> None:
    app = tw.App("ports")
    a = app.source(tw.files("nowhere", format="parquet"), In, name="a")
    b = app.source(tw.files("elsewhere", format="parquet"), In, name="b")
    for i, stream in enumerate(tw.operator(code, a, b, into=[Out, Out], name="op")):
        stream.sink(tw.none(), name=f"out{i}")
    found = facts_of(app.graph())["op"]
    assert [(s.least, s.most) for s in found.selectivity] == selectivity
    assert found.stateless
    names = [[" ".join(sorted(m, reverse=True)) for m in port] for port in found.forwards]
    assert names == forwards


def test_a_reason_names_the_line() -> None:
    case = next(c for c in CASES if getattr(c.code, "__name__", "") == "global_counter")
    line = global_counter.__code__.co_firstlineno + 3
    assert str(facts(case).state.because).endswith(f"hidden_state.py:{line}")
