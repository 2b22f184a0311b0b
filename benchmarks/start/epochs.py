"""What settings of the JVM cost later: its CPU time for an epoch, once the start is over.

    python benchmarks/start/epochs.py --variant now: --variant c1:spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1

By default an epoch holds next to nothing: its fixed cost is planning and scheduling, almost all of it in the JVM. With
`--tuples 1000000` much goes through an exchange. Variants take turns; the first epochs are left out, and of the others
the first and the second half are shown: code that is compiled late makes them differ.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--tuples", type=int, default=1_000, help="per epoch")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME:KEY=VALUE,KEY=VALUE")
    parser.add_argument("--child", nargs="*")
    arguments = parser.parse_args()
    if arguments.child is not None:
        run_one(arguments.child, arguments.epochs, arguments.tuples)
        return
    chosen = variants(arguments.variant)
    found: dict[str, list[list[float]]] = {name: [] for name in chosen}
    for _ in range(arguments.rounds):
        for name, settings in chosen.items():
            size = ("--epochs", str(arguments.epochs), "--tuples", str(arguments.tuples))
            command = [sys.executable, __file__, *size, "--child", *settings]
            done = subprocess.run(command, stdout=subprocess.PIPE, start_new_session=True, check=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
            early, late = found[name][-1]
            print(f"{name}: {early:.0f} ms of JVM CPU per epoch, then {late:.0f} ms", flush=True)
    first = next(iter(chosen))
    for name in chosen:
        for half, what in enumerate(("first half", "second half")):
            ratios = [new[half] / old[half] for old, new in zip(found[first], found[name], strict=True)]
            print(f"{name} against {first}, {what}: {median(ratios):.2f}")


def run_one(settings: list[str], epochs: int, tuples: int) -> None:
    import thalweg as tw
    from thalweg.api import run_plan
    from thalweg.engine.core.run import RunOptions
    from thalweg.engine.storage.report import EpochReport
    from thalweg.optimize.passes import make_plan

    class Number(tw.Tuple):
        n: int
        key: int

    app = tw.App("epochs")
    numbers = app.source(tw.beacon(lambda i: {"n": i, "key": i % 1000}, count=epochs * tuples), Number, name="numbers")
    numbers.aggregate(tw.window.running(by="key"), n=tw.agg.sum("n"), name="sums").sink(tw.none())
    processes = Processes(os.getsid(0))
    spent: list[float] = []

    def watch(report: EpochReport) -> None:
        spent.append(processes.cpu_s()[1])

    conf = dict(setting.split("=", 1) for setting in settings)
    run_plan(make_plan(app.graph(), degree=2), "spark", RunOptions(max_tuples_per_epoch=tuples, conf=conf), watch)
    first = epochs // 10
    middle = (first + epochs) // 2
    halves = (first, middle), (middle, epochs - 1)
    print(json.dumps([(spent[stop] - spent[start]) / (stop - start) * 1e3 for start, stop in halves]))


if __name__ == "__main__":
    main()
