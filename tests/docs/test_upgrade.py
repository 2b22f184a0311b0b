"""The class with versions of docs/operators.md goes on with the state of its first version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import read_page
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import ThalwegWarning
from thalweg.optimize.passes import make_plan

PAGE = read_page("operators.md")
FIRST_VERSION = """
class Means(tw.Operator):
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def process(self, t, port):
        self.n += 1
        self.sum += t.price
        self.submit(Mean(t.symbol, self.sum / self.n))
"""


class Stop(Exception):
    """Leaves a run after its first epoch."""


def test_the_example_upgrades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [e for e in PAGE.examples if "def upgrade(" in e.code]
    PAGE.write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    new = PAGE.write_example(example, tmp_path)
    old = tmp_path / "old.py"
    old.write_text(re.sub(r"\nclass Means.*?\n\n\n(?=app)", f"{FIRST_VERSION}\n\n", new.read_text(), flags=re.DOTALL))
    options = RunOptions(tmp_path / "checkpoint", max_tuples_per_epoch=4)

    def stop(report: EpochReport) -> None:
        raise Stop

    with pytest.raises(Stop):
        run_local(make_plan(load_app(str(old)).graph()), options, stop)
    with pytest.warns(ThalwegWarning, match="is not as it was at the last start"):
        found = run_local(make_plan(load_app(str(new)).graph()), options, lambda report: None).tuples()
    shown = [line.split() for line in example.output.splitlines()[1:]]
    assert [(symbol, mean) for symbol, mean in found] == [(symbol, float(mean)) for symbol, mean in shown]
