"""What settings of the JVM cost later: the JVM's CPU time for an epoch of next to nothing, once the start is over.

    python benchmarks/start/epochs.py --variant now: --variant c1:spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1

An epoch's fixed cost is planning and scheduling, almost all of it in the JVM. Variants take turns; the first epochs are
left out, and of the others the first and the second half are shown: code that is compiled late makes them differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.start.spark import variants
from benchmarks.start.spark_parts import Processes

LEFT_OUT, PER_EPOCH = 20, 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--variant", action="append", default=[], metavar="NAME:KEY=VALUE,KEY=VALUE")
    parser.add_argument("--child", nargs="*")
    arguments = parser.parse_args()
    if arguments.child is not None:
        run_one(arguments.child, arguments.epochs)
        return
    chosen = variants(arguments.variant)
    found: dict[str, list[list[float]]] = {name: [] for name in chosen}
    for _ in range(arguments.rounds):
        for name, settings in chosen.items():
            command = [sys.executable, __file__, "--epochs", str(arguments.epochs), "--child", *settings]
            done = subprocess.run(command, stdout=subprocess.PIPE, start_new_session=True, check=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
            early, late = found[name][-1]
            print(f"{name}: {early:.0f} ms of JVM CPU per epoch, then {late:.0f} ms", flush=True)
    first = next(iter(chosen))
    for name in chosen:
        for half, what in enumerate(("first half", "second half")):
            ratios = [new[half] / old[half] for old, new in zip(found[first], found[name], strict=True)]
            print(f"{name} against {first}, {what}: {median(ratios):.2f}")


def run_one(settings: list[str], epochs: int) -> None:
    import thalweg as tw
    from thalweg.api import run_plan
    from thalweg.engine.core.run import RunOptions
    from thalweg.engine.storage.report import EpochReport
    from thalweg.optimize.passes import make_plan

    class Number(tw.Tuple):
        n: int

    app = tw.App("epochs")
    numbers = app.source(tw.beacon(lambda i: {"n": i}, count=epochs * PER_EPOCH), Number, name="numbers")
    numbers.aggregate(tw.window.running(), n=tw.agg.sum("n"), name="sums").sink(tw.none())
    processes = Processes(os.getsid(0))
    spent: list[float] = []

    def watch(report: EpochReport) -> None:
        spent.append(processes.cpu_s()[1])

    conf = dict(setting.split("=", 1) for setting in settings)
    run_plan(make_plan(app.graph(), degree=2), "spark", RunOptions(max_tuples_per_epoch=PER_EPOCH, conf=conf), watch)
    middle = (LEFT_OUT + epochs) // 2
    halves = (LEFT_OUT, middle), (middle, epochs - 1)
    print(json.dumps([(spent[stop] - spent[start]) / (stop - start) * 1e3 for start, stop in halves]))


if __name__ == "__main__":
    main()
