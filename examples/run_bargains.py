"""`make run`: make ticks, run the bargains example on Spark, check what it found."""

from __future__ import annotations

import sys

from check_bargains import disagreement, expected_bargains
from make_ticks import FOLDER, make_ticks
from rich.console import Console

from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.cli.show_run import progress, show_result
from thalweg.engine.core.run import RunOptions
from thalweg.explain import explain
from thalweg.optimize.passes import make_plan

TICKS, FILES, PER_EPOCH, DEGREE = 400_000, 4, 50_000, 2


def main() -> int:
    out = Console(highlight=False, soft_wrap=True)
    if not FOLDER.exists():
        make_ticks(FOLDER, TICKS, FILES)
    app = load_app("examples/bargains.py")
    plan = make_plan(app.graph(), degree=DEGREE)
    out.print(explain(plan), markup=False)
    out.print("starting Spark (a few seconds)")
    with progress(out, out, plan, as_json=False, view=None) as view:
        result = run_plan(plan, "spark", RunOptions(max_tuples_per_epoch=PER_EPOCH), view.watch)
    show_result(out, result, as_json=False)
    problem = disagreement(result.tuples("found"), expected_bargains(FOLDER))
    out.print(
        problem or f"{result.tuples_out['found']:,} bargains agree with an independent implementation", markup=False
    )
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
