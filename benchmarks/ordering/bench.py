"""Order in parallel regions: python benchmarks/ordering/bench.py [--rounds N] [--only PART ...] [--quick] [--json]"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, Spread, machine, ratio, table, write_results
from benchmarks.ordering import merging, speedup

Document = dict[str, Any]


def overhead(options: argparse.Namespace, document: Document) -> str:
    rows = []
    for name, rates in merging.overhead(options.tuples, options.rounds):
        document["rates"][f"overhead: {name}"] = rates
        base = rates[merging.ROUND_ROBIN]
        extra = [_percent(base, rates[other]) for other in (merging.NUMBERS, merging.PULSES)]
        rows.append([name, Spread.of(base).text(), *extra])
    header = ["frames, work per tuple", "round-robin, tuples/s", "numbers: more time", "with pulses: more time"]
    return f"## Overhead over round-robin\n\n{table(header, rows)}"


def _percent(base: list[float], other: list[float]) -> str:
    """How much more time per tuple, round by round."""
    found = ratio(base, other)
    assert found is not None
    return Spread(*(100 * (value - 1) for value in (found.median, found.low, found.high))).text(1) + " %"


def sweep(options: argparse.Namespace, document: Document) -> str:
    found = {name: (rates, held) for name, rates, held in merging.sweep(options.tuples, options.rounds, rows=10)}
    for name, (rates, held) in found.items():
        document["rates"][f"sweep: {name}"] = rates[name]
        document["held"][name] = held
    header = ["pulse period, in frames", *(f"1:{s}" for s in merging.SELECTIVITIES)]
    texts: dict[str, Callable[[str], str]] = {
        "Tuples per second into the region": lambda n: Spread.of(found[n][0][n]).text(),
        "Most tuples that the merger held": lambda n: f"{found[n][1]:,}",
    }
    sections = [
        f"{title}:\n\n"
        + table(
            header,
            [
                [str(period), *(text(f"period {period}, 1:{s}") for s in merging.SELECTIVITIES)]
                for period in merging.PERIODS
            ],
        )
        for title, text in texts.items()
    ]
    return "## Pulse period and selectivity\n\n" + "\n\n".join(sections)


def speedups(options: argparse.Namespace, document: Document) -> str:
    rows = []
    document["start_s"] = speedup.start_seconds()
    steps = speedup.STEPS[::2] if options.quick else speedup.STEPS
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch:
        for name, rates in speedup.speedups(Path(scratch), options.items, options.rounds, steps):
            document["rates"][f"speed-up: {name}"] = rates
            rows.append([name, *(Spread.of(values).text() for values in rates.values()), _speedup(rates)])
    header = ["graph, work per tuple", "one channel, tuples/s", "two channels, tuples/s", "speed-up"]
    told = f"Starting the workers of a run takes {document['start_s']:.2f} s more, once."
    return f"## Two channels against one\n\n{table(header, rows)}\n\n{told}"


def _speedup(rates: Measured) -> str:
    found = ratio(rates["two channels"], rates["one channel"])
    assert found is not None
    return found.text(2)


PARTS: dict[str, Callable[[argparse.Namespace, Document], str]] = {
    "overhead": overhead,
    "sweep": sweep,
    "speedup": speedups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tuples", type=int, default=20_000, help="through the mergers; fewer where work grows")
    parser.add_argument("--items", type=int, default=400_000, help="through the engine; fewer where work grows")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="few tuples, 2 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.tuples, options.items = 2, 1_000, 20_000
    document: Document = {
        "machine": machine("numpy", "pyarrow"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples", "items")},
        "rates": {},
        "held": {},
    }
    sections = []
    for name in options.only:
        sections.append(PARTS[name](options, document))
        if not options.json:
            print(f"\n{sections[-1]}", flush=True)
    if options.json:
        print(json.dumps(document))
    if not options.quick and options.only == list(PARTS):
        write_results(Path(__file__).with_name("results"), "Ordering: last results", "\n\n".join(sections), document)


if __name__ == "__main__":
    main()
