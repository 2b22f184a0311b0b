"""What failing tuples and bad lines cost: python -m benchmarks.failures.bench [--quick] [--rounds N] [--only TEXT]

Every kind of operator runs over tuples of which none, 1 % or 10 % fail, and every format is read with no bad line and
with 1 % of them, one after the other in each round. The cost is the CPU time of the whole run, files included.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.failures.formats import FORMATS, file_application, write_lines
from benchmarks.failures.operators import OPERATORS, application
from benchmarks.harness import Measured, interleaved, machine, ratio, table, write_results

import thalweg as tw
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.optimize.passes import make_plan

POLICIES = ("skip", "dead_letter")
SHARES = {"none": 0.0, "1 %": 0.01, "10 %": 0.1}
GOALS = {"operators": "at most 2 at 10 %", "files": "at most 1.5 at 1 %"}
Cases = dict[str, Callable[[], tw.App]]  # by share


def write_items(folder: Path, count: int, share: float) -> None:
    """Seeded tuples; x is 0 in this share of them."""
    seeded = np.random.default_rng(7)
    x = seeded.integers(1, 100, count)
    x[seeded.random(count) < share] = 0
    words = np.array([f"w{i}" for i in range(20)])
    columns = {
        "k": np.sort(seeded.integers(0, 1000, count)),
        "x": x,
        "y": seeded.random(count),
        "s": words[seeded.integers(0, len(words), count)],
    }
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "items.parquet")


def cpu_seconds(make: Callable[[], tw.App]) -> float:
    plan = make_plan(make().graph(), degree=1)
    gc.collect()
    start = time.process_time()
    run_local(plan, RunOptions(max_tuples_per_epoch=100_000), lambda report: None)
    return time.process_time() - start


def operator_cases(scratch: Path, tuples: int) -> Iterator[tuple[str, Cases]]:
    for share, value in SHARES.items():
        write_items(scratch / share, tuples, value)
    for name, form in OPERATORS.items():
        for policy in POLICIES:
            yield f"{name}, {policy}", {s: partial(application, scratch / s, form, policy) for s in SHARES}


def file_cases(scratch: Path, tuples: int) -> Iterator[tuple[str, Cases]]:
    for name, form in FORMATS.items():
        for share, value in SHARES.items():
            write_lines(scratch / name / share, form, tuples, value)
        for policy in POLICIES:
            yield f"{name}, {policy}", {s: partial(file_application, scratch / name / s, form, policy) for s in SHARES}


def measured(cases: Cases, rounds: int) -> Measured:
    found: Measured = {share: [] for share in cases}
    for _, share in interleaved(list(cases), rounds):
        found[share].append(cpu_seconds(cases[share]))
    return found


def row(name: str, seconds: Measured, tuples: int) -> list[str]:
    base = seconds["none"]
    per_tuple = min(base) / tuples * 1e6
    ratios = [found for share in list(seconds)[1:] if (found := ratio(seconds[share], base)) is not None]
    return [name, f"{per_tuple:.2f}", *(found.text(2) for found in ratios)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tuples", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="50,000 tuples, 3 rounds, no results written")
    parser.add_argument("--only", default="", help="only the forms with this text in their names")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.tuples, options.rounds = 50_000, 3
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples")},
        "seconds": {},
    }
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch:
        for kind, cases in (("operators", operator_cases), ("files", file_cases)):
            rows: list[list[str]] = []
            for name, of_form in cases(Path(scratch) / kind, options.tuples):
                if options.only not in name:
                    continue
                seconds = document["seconds"][name] = measured(of_form, options.rounds)
                rows.append(row(name, seconds, options.tuples))
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
            title = f"## {kind}: CPU time as a multiple of no failure (goal: {GOALS[kind]})"
            sections.append(f"{title}\n\n{table(['form', 'µs per tuple', '1 %', '10 %'], rows)}")
    if options.json:
        print(json.dumps(document))
    else:
        print("\n\n".join(sections))
    if not options.quick and not options.only:
        write_results(
            Path(__file__).with_name("results"), "Failing tuples: last results", "\n\n".join(sections), document
        )


if __name__ == "__main__":
    main()
