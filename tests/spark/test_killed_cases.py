"""Random graphs on Spark whose driver, JVM and workers are killed at random moments and started again until they end,
against the reference over the run's own input log, bit for bit.

`SPARK_KILLED` of tests/amount.py is the number of cases; as in test_plan_invariance.py, several of them make one query.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.amount import SPARK_KILLED
from tests.properties.strategies import Case
from tests.spark.processes import Run, moment, starved
from tests.spark.random_case_driver import Drawn
from tests.spark.test_plan_invariance import GRAPHS_PER_QUERY, SETTINGS, side_by_side
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.engine.sinks.writers import CollectSink, make_sinks, tuples_of
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.ir.text import print_plan
from thalweg.verify.compare import first_difference, in_any_order
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, pytest.mark.processes]

KILLS = 2  # of each query
EPOCHS = 5
DRIVER = [sys.executable, "-m", "tests.spark.random_case_driver"]
ROOT = Path(__file__).parents[2]


@settings(SETTINGS, max_examples=max(1, -(-SPARK_KILLED // GRAPHS_PER_QUERY)))
@given(side_by_side(), st.integers(2, 3), st.integers(0, 999))
def test_kills_never_change_the_answer(several: list[Case], channels: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="thalweg-killed-") as name:
        folder, drawn = Path(name), Drawn(several, channels)
        drawn.save(folder)
        plan = drawn.plan(folder)
        note(print_plan(plan))
        run_with_kills(folder, -(-drawn.longest // EPOCHS) * len(plan.graph.sources), random.Random(seed))
        checkpoint = Checkpoint(folder / "checkpoint")
        answer = Reference(plan.graph).run(list(checkpoint.log))
        compared = 0
        for sink, writer in make_sinks(plan.graph, checkpoint.results).items():
            if isinstance(writer, CollectSink):  # the others feed back: what came of it is in these
                arranged = list if sink in ordered_sinks(plan.graph) else in_any_order
                found = first_difference(arranged(answer[sink]), arranged(tuples_of(writer.read())))
                assert found is None, f"sink {sink} of {several!r}: {found}"
                compared += len(answer[sink])
        assert compared, "the sinks got nothing"


def run_with_kills(folder: Path, per_epoch: int, chance: random.Random) -> None:
    said, checkpoint = folder / "said", folder / "checkpoint"
    kills = 0
    while not (checkpoint / "ended").exists():
        run = Run([*DRIVER, str(folder), str(per_epoch)], said, cwd=ROOT)
        if kills < KILLS:
            kills += run.wait_until(moment(checkpoint, chance))
            run.kill()
        code = run.wait()
        assert code in (0, -9) or starved(said), f"exit code {code}:\n{said.read_text()[-4000:]}"
