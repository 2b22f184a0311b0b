"""Migration on Spark, with all kinds of state: 2 channels, then 3, then 1, from the local engine and back to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.changed_code import CHANGES_CODE
from tests.mixed import Mixed, results
from tests.small import Stop, stop_after
from tests.spark.test_commands import entries
from thalweg.cli.main import cli
from thalweg.engine.state.inspect_checkpoint import Inspection, inspect_checkpoint
from thalweg.engine.state.migrate import migrate
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.optimize.request import PlanRequest

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), CHANGES_CODE]


def shown(found: Inspection) -> dict[str, list[str]]:
    """What is remembered, whichever object it is."""
    return {
        name: sorted(re.sub(r"at 0x\w+", "", repr(entry)) for entry in held.items())
        for name, held in entries(found).items()
    }


def test_up_and_down_gives_the_same_answer(tmp_path: Path) -> None:
    """Each stop may leave an epoch that Spark has begun and not committed: it is run in the next checkpoint."""
    whole = Mixed.make(tmp_path / "whole")
    whole.run(tmp_path / "undisturbed")
    mixed = Mixed.make(tmp_path / "moved")
    places = [tmp_path / f"state{number}" for number in range(4)]
    with pytest.raises(Stop):
        mixed.run(places[0], "spark", 2, watch=stop_after(1))
    migrate(places[0], places[1], PlanRequest(degree=3, buckets=5))
    done = inspect_checkpoint(places[1]).epochs_done
    assert done >= 1
    with pytest.raises(Stop):
        mixed.run(places[1], "spark", 3, buckets=5, watch=stop_after(done + 1))
    before = inspect_checkpoint(places[1])
    assert before.epochs_done > done
    said = CliRunner().invoke(cli, ["migrate", str(places[1]), str(places[2]), "--degree", "1", "--json"])
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert (document["channels"], document["epochs"]["done"]) == ([3, 1], before.epochs_done)
    assert {o["name"]: o["keys"] for o in document["operators"]} == {s.name: s.keys for s in before.operators}
    moved = inspect_checkpoint(places[2])
    assert shown(moved) == shown(before)
    with pytest.raises(Stop):
        mixed.run(places[2], "spark", 1, watch=stop_after(before.epochs_done))
    migrate(places[2], places[3], PlanRequest(degree=2), engine="local")
    mixed.run(places[3], "local", 2)
    assert results(places[3]) == results(tmp_path / "undisturbed")
    logs = [[(e.number, e.base, e.tuples) for e in Checkpoint(f).log] for f in (places[3], tmp_path / "undisturbed")]
    assert logs[0] == logs[1]
