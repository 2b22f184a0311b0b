"""What brackets around operators cost, off and on: python benchmarks/kernels/brackets.py [--quick] [--rounds N]

Off is the plain form of the generated code. The peer calls that form and cannot switch to the other one.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, interleaved, machine, ratio, table, write_results

import thalweg as tw
from thalweg.codegen.pe_module import compile_plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime.brackets import Stack, Timer
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Output
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn

ROWS = (20, 1_000, 100_000)
OPERATORS = 10
ROUND_S = 0.02  # of work per contender and round
Job = Callable[[int], object]


class Number(tw.Tuple):
    x: float


def numbers() -> tuple[tw.App, tw.Stream]:
    app = tw.App("brackets")
    return app, app.source(tw.beacon(lambda i: {"x": i * 0.5}, count=1), Number, name="numbers")


def chain() -> tw.App:
    """Maps that share one kernel, and so one bracket."""
    app, stream = numbers()
    for _ in range(OPERATORS):
        stream = stream.map(lambda t: {"x": t.x + 1.0})
    stream.sink(tw.collect())
    return app


def branches() -> tw.App:
    """Filters of one stream, each with a bracket, and a wire for each."""
    app, stream = numbers()
    for number in range(OPERATORS):
        stream.filter(lambda t: t.x >= 0.0).sink(tw.collect(), name=f"out{number}")
    return app


FORMS = {"a chain of ten maps": chain, "ten filters": branches}


def run_plain(pe: PE, turn: Turn) -> Output:
    streams: tuple[Any, ...] = ()
    for segment in pe.segments:
        streams = segment(pe, turn, *streams)
    return turn.output


def contenders(app: tw.App, rows: int) -> dict[str, Job]:
    ((program,),) = compile_plan(make_plan(app.graph(), fuse="all"))
    pe, stack, timer = PE(program, 0, Resources()), Stack(), Timer(len(program.brackets))
    frames: dict[int | str, Frame] = {"numbers": Frame(np.arange(rows), (), {"x": np.arange(rows) * 0.5})}

    def without(times: int) -> None:
        for _ in range(times):
            run_plain(pe, Turn(frames))

    def with_stack(stack: Stack | None) -> Job:
        def run(times: int) -> None:
            for _ in range(times):
                pe.run(Turn(frames), stack)

        return run

    return {"without": without, "off": with_stack(None), "sampled": with_stack(stack), "timed": with_stack(timer)}


def cpu_s(job: Job, times: int) -> float:
    gc.collect()
    began = time.process_time()
    job(times)
    return time.process_time() - began


def measure(jobs: dict[str, Job], rounds: int) -> Measured:
    """Frames per second of CPU time."""
    times = 1
    while (seconds := cpu_s(jobs["without"], times)) < ROUND_S / 4:
        times *= 2
    times = max(1, round(times * ROUND_S / seconds))
    rates: Measured = {name: [] for name in jobs}
    for _, name in interleaved(list(jobs), rounds):
        rates[name].append(times / cpu_s(jobs[name], times))
    return rates


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.quantile(values, (0.25, 0.75))
    return float(low), float(high)


def row(title: str, rates: Measured) -> list[str]:
    peer = rates["without"]
    cells = [title, f"{1e6 / np.median(peer):,.1f}"]
    for name in ("off", "sampled", "timed"):
        found = ratio(rates[name], peer)
        assert found is not None
        low, high = quartiles([a / b for a, b in zip(rates[name], peer, strict=True)])
        cells.append(f"{found.median:.3f} ({low:.3f}..{high:.3f})")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--quick", action="store_true", help="7 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 7
    document: dict[str, Any] = {"machine": machine("numpy"), "options": {"rounds": options.rounds}, "rates": {}}
    rows: list[list[str]] = []
    for form, app in FORMS.items():
        for size in ROWS:
            title = f"{form}, frames of {size:,}"
            rates = document["rates"][title] = measure(contenders(app(), size), options.rounds)
            rows.append(row(title, rates))
    how = "Ratios are to calls that know no brackets; in parentheses: the middle half of the rounds."
    report = how + "\n\n" + table(["form", "µs per frame", "× off", "× sampled", "× timed"], rows)
    print(json.dumps(document) if options.json else report)
    if not options.quick:
        file = Path(__file__).with_name("brackets-results")
        write_results(file, "Brackets: last results", report, document, "brackets.py")


if __name__ == "__main__":
    main()
