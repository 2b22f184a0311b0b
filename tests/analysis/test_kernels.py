"""The five kernels of the paper: their regions, as golden texts, and their answers under many plans.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/analysis/test_kernels.py, then read it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thalweg.analysis.show_regions import order_text, regions_text
from thalweg.cli.load import load_app
from thalweg.engine.check import check
from thalweg.explain import cut_invariance
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import make_plan

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernels"
GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"
KERNELS = ("network_monitoring", "page_rank", "twitter_nlp", "twitter_cep", "finance")


def kernel(name: str) -> LogicalGraph:
    return load_app(str(EXAMPLES / f"{name}.py"), {}).graph()


@pytest.mark.parametrize("name", KERNELS)
def test_regions(name: str) -> None:
    graph = kernel(name)
    parts: list[str] = []
    for rules in ("thalweg", "paper"):
        plan = make_plan(graph, degree=4, rules=rules)
        parts += [f"# {rules}", *regions_text(plan, rules), "", print_plan(plan), *order_text(plan), ""]
    text = "\n".join(parts).replace(f"{EXAMPLES}{os.sep}", "")
    file = GOLDEN / f"kernel_{name}.txt"
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), "THALWEG_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("name", KERNELS)
def test_answers(name: str) -> None:
    graph = kernel(name)
    cut_invariant, _ = cut_invariance(graph)
    result = check(graph, tuples=600, plans=10, seed=1, cut_invariant=cut_invariant, progress=lambda done: None)
    assert (result.plans, result.difference, result.failure) == (10, None, None)
    assert all(result.sinks.values()), "a kernel that finds nothing shows nothing"
