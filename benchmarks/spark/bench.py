"""Thalweg on Spark against plain PySpark, Polars and the bare query: see benchmarks/spark/README.md."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import bargains
from benchmarks.harness import Measured, Spread, best, interleaved, machine, rate_table, ratio, table, write_results
from benchmarks.spark.contenders import (
    MASTER,
    SESSION,
    Epochs,
    Load,
    epoch_ms,
    run_bare,
    run_plain,
    run_polars,
    run_thalweg,
)
from benchmarks.spark.plain import FORMS
from pyspark.sql.streaming.listener import StreamingQueryProgress

from thalweg.engine.spark.session import spark_session

THALWEG, BARE = "thalweg", "bare query"
UNTUNED = "applyInPandasWithState, Spark's settings"
STREAMING: dict[str, Callable[[Load, Path], Epochs]] = {
    THALWEG: run_thalweg,
    **{form: lambda load, out, form=form: run_plain(form, load, out) for form in FORMS},  # type: ignore[misc]
    UNTUNED: lambda load, out: run_plain("applyInPandasWithState", load, out, tuned=False),
}
SLOWEST = "transformWithState"
POLARS = {"polars, 1 thread": 1, f"polars, {os.cpu_count()} threads": os.cpu_count() or 1}
PEERS = {
    "applyInPandasWithState": "applyInPandasWithState",
    "applyInPandasWithState, in pandas": "the same, in pandas",
    UNTUNED: "the same, Spark's settings",
    "polars, 1 thread": "Polars (1 thread)",
}
FIXED = "fixed"  # the fixed cost of an epoch: Thalweg with tiny epochs against the bare query
CHOICES = [*STREAMING, "polars", FIXED]


@dataclass(frozen=True)
class Sizes:
    """How much is run; the defaults are the real thing."""

    file_rows: int = 200_000
    ticks: int = 2_000_000  # at one file per epoch
    files_per_large_epoch: int = 5
    large_epochs: int = 6
    files_per_huge_epoch: int = 25
    huge_epochs: int = 4
    warm_huge: int = 1
    warm_small: int = 3  # epochs that are run and not counted
    warm_large: int = 2
    short_small_epochs: int = 6  # for the slowest contender, whose epochs take half a minute
    short_large_epochs: int = 3
    checked_rows: int = 10_000  # in each of five files
    tiny_rows: int = 100
    tiny_epochs: int = 50
    warm_tiny: int = 10
    tiny_pairs: int = 2  # of blocks of tiny epochs, in each round


QUICK = Sizes(
    file_rows=10_000,
    ticks=40_000,
    files_per_large_epoch=2,
    large_epochs=3,
    files_per_huge_epoch=4,
    huge_epochs=2,
    warm_small=1,
    warm_large=1,
    short_small_epochs=3,
    short_large_epochs=2,
    checked_rows=2_000,
    tiny_epochs=12,
    warm_tiny=4,
    tiny_pairs=1,
)


@dataclass
class Results:
    """What was measured so far: the tables and the files come from here."""

    rates: dict[str, Measured] = field(default_factory=dict)  # epoch size to tuples per second
    fixed_ms: Measured = field(default_factory=dict)  # a round's median over its epochs
    epochs_ms: dict[str, list[list[int]]] = field(default_factory=dict)  # all that was counted, to look back at

    def report(self) -> str:
        sections = [f"## {title}\n\n{rate_table(rates, _peers(rates))}" for title, rates in self.rates.items()]
        if any(self.fixed_ms.values()):
            sections.append(f"## Fixed cost of an epoch\n\n{self._fixed_table()}")
            sections += self._bound()
        return "\n\n".join(sections)

    def _fixed_table(self) -> str:
        theirs = self.fixed_ms[BARE]
        rows = [
            [name, Spread.of(ms).text(), found.text(2) if (found := ratio(ms, theirs)) else ""]
            for name, ms in self.fixed_ms.items()
            if ms
        ]
        return table(["contender", "ms per epoch", f"× {BARE}"], rows)

    def _bound(self) -> list[str]:
        """What no query with these stages can pass: the bare one, which moves and computes nothing."""
        rows = []
        for title, rates in self.rates.items():
            most = int(title.split()[0].replace(",", "")) * 1_000 / statistics.median(self.fixed_ms[BARE])
            rows += [[title, form, f"{most / statistics.median(rates[form]):.1f}"] for form in FORMS if form in rates]
        header = ["epoch", "plain PySpark", f"the {BARE} would be × as fast"]
        return [f"## A bound\n\n{table(header, rows)}"] if rows else []


def _peers(rates: Measured) -> Measured:
    """What is compared with: plain PySpark's form for pandas, its best form in each round, and Polars."""
    plain = [rates[form] for form in FORMS if form in rates]
    found = {title: rates[name] for name, title in PEERS.items() if name in rates}
    return found | ({"best plain PySpark": best(plain)} if len(plain) > 1 else {})


class Bench:
    """The loads in a scratch folder, and the rounds over them."""

    def __init__(self, scratch: Path, sizes: Sizes, only: list[str], last: int | None) -> None:
        self.scratch, self.sizes, self.only = scratch, sizes, only
        small, rows = sizes.ticks // sizes.file_rows, sizes.file_rows
        large = sizes.files_per_large_epoch * sizes.large_epochs
        self.small = Load(scratch / "small", small * rows, rows, rows, last)
        self.large = Load(scratch / "large", large * rows, rows, sizes.files_per_large_epoch * rows, last)
        huge = sizes.files_per_huge_epoch * sizes.huge_epochs
        self.huge = Load(scratch / "huge", huge * rows, rows, sizes.files_per_huge_epoch * rows, last)
        short, per_large = sizes.short_small_epochs, sizes.files_per_large_epoch * rows
        self.short_small = Load(scratch / "short-small", short * rows, rows, rows, last)
        self.short_large = Load(scratch / "short-large", sizes.short_large_epochs * per_large, rows, per_large, last)
        self.sample = Load(scratch / "sample", 5 * sizes.checked_rows, sizes.checked_rows, sizes.checked_rows, last)
        tiny = sizes.tiny_rows * sizes.tiny_epochs
        self.tiny = Load(scratch / "tiny", tiny, tiny, sizes.tiny_rows, last)
        self.results = Results()

    def prepare(self) -> None:
        for load in self.loads:
            bargains.write_ticks(load.folder, load.ticks // load.file_rows, load.file_rows)

    @property
    def loads(self) -> tuple[Load, ...]:
        return self.small, self.large, self.huge, self.short_small, self.short_large, self.sample, self.tiny

    def _small_and_large(self, name: str) -> tuple[Load, Load]:
        return (self.short_small, self.short_large) if name == SLOWEST else (self.small, self.large)

    @property
    def streaming(self) -> list[str]:
        return [name for name in STREAMING if name in self.only]

    @property
    def polars(self) -> list[str]:
        return list(POLARS) if "polars" in self.only else []

    @contextmanager
    def _out(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            yield Path(folder) / "out"

    def check(self) -> None:
        """Everyone must give the same answer, over five epochs with state between them."""
        expected = bargains.python_loop(bargains.read_lists(self.sample.folder), self.sample.last)
        for name in (*self.streaming, *self.polars):
            with self._out() as out:
                if name in STREAMING:
                    STREAMING[name](self.sample, out)
                else:
                    run_polars(POLARS[name], self.sample, out)
                if (problem := bargains.disagreement(bargains.read_bargains(out), expected)) is not None:
                    sys.exit(f"{name} does not give the answer: {problem}")
            say(f"checked {name}: {len(expected):,} bargains")

    def warm_up(self) -> None:
        """The check has run every query once over few tuples; here the JVM sees them at full size."""
        for name in self.streaming:
            with self._out() as out:
                STREAMING[name](self._small_and_large(name)[0], out)
            say(f"warmed up {name}")
        if FIXED in self.only:
            for name in (THALWEG, BARE):
                self._tiny_block(name)
            say(f"warmed up {FIXED}")

    def run(self, rounds: int, after_round: Callable[[Results], None]) -> None:
        names = [*self.streaming, *self.polars, *([FIXED] if FIXED in self.only else [])]
        at = 0
        for number, name in interleaved(names, rounds):
            if number != at:
                after_round(self.results)
                at = number
            began = time.monotonic()
            if name == FIXED:
                self._fixed(number)
            elif name in POLARS:
                self._polars(name)
            else:
                small, large = self._small_and_large(name)
                self._stream(name, small, self.sizes.warm_small)
                self._stream(name, large, self.sizes.warm_large)
                if name == THALWEG:  # plain PySpark would take minutes
                    self._stream(name, self.huge, self.sizes.warm_huge)
            say(f"round {number + 1}: {name}, {time.monotonic() - began:.0f} s")
        after_round(self.results)

    def _stream(self, name: str, load: Load, warm: int) -> None:
        with self._out() as out:
            ms = epoch_ms(STREAMING[name](load, out))[warm:]
        self.results.epochs_ms.setdefault(f"{name}, {load.epoch_rows:,}", []).append(ms)
        self._rate(load, name, load.epoch_rows * len(ms) * 1_000 / sum(ms))

    def _polars(self, name: str) -> None:
        """A batch knows no epochs, so two tables show the same number; the third is over the larger batch."""
        for batch, loads in ((self.small, (self.small, self.large)), (self.huge, (self.huge,))):
            with self._out() as out:
                rate = batch.ticks / run_polars(POLARS[name], batch, out)
            for load in loads:
                self._rate(load, name, rate)

    def _rate(self, load: Load, name: str, rate: float) -> None:
        rates = self.results.rates.setdefault(f"{load.epoch_rows:,} tuples per epoch", {})
        rates.setdefault(name, []).append(rate)

    def _fixed(self, number: int) -> None:
        """Blocks of tiny epochs, Thalweg's and the bare query's in turn; each pair is a comparison of its own."""
        for pair in range(self.sizes.tiny_pairs):
            for name in sorted((THALWEG, BARE), reverse=(number + pair) % 2 == 1):
                ms = epoch_ms(self._tiny_block(name))
                self.results.epochs_ms.setdefault(f"{name}, tiny", []).append(ms)
                self.results.fixed_ms.setdefault(name, []).append(statistics.median(ms))

    def _tiny_block(self, name: str) -> Epochs:
        with self._out() as out:
            epochs = run_thalweg(self.tiny, out) if name == THALWEG else run_bare(self.tiny.epochs, out)
        return epochs[self.sizes.warm_tiny :]

    def where(self) -> str:
        """Where an epoch's time goes in Thalweg (and, for tiny epochs, in the bare query): medians in ms."""
        self.warm_up()
        columns: dict[str, dict[str, float]] = {}
        for load, warm in ((self.small, self.sizes.warm_small), (self.large, self.sizes.warm_large)):
            with self._out() as out:
                columns[f"{load.epoch_rows:,}"] = parts(run_thalweg(load, out)[warm:])
        columns |= {f"{name}, tiny": parts(self._tiny_block(name)) for name in (THALWEG, BARE)}
        names = dict.fromkeys(name for column in columns.values() for name in column)
        rows = [[name, *(f"{column.get(name, 0):,.0f}" for column in columns.values())] for name in names]
        return table(["median over epochs", *columns], rows)


def parts(epochs: Epochs) -> dict[str, float]:
    """Medians of Spark's figures for an epoch: the trigger's durations, then the state's (summed over partitions)."""
    medians = {
        f"{name} ms": statistics.median(epoch.durationMs.get(name, 0) for epoch in epochs)
        for name in epochs[0].durationMs
    }
    states = [_state_numbers(epoch) for epoch in epochs]
    medians |= {name: statistics.median(numbers.get(name, 0) for numbers in states) for name in states[0]}
    return {name: value for name, value in medians.items() if value}


def _state_numbers(epoch: StreamingQueryProgress) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for operator in epoch.stateOperators:
        numbers |= {"state: updates ms": operator.allUpdatesTimeMs, "state: commit ms": operator.commitTimeMs}
        for name, value in sorted(operator.customMetrics.items()):
            if "Latency" in name or name.endswith(("BytesCopied", "GetCount", "PutCount")):
                numbers[f"state: {name}"] = value
    return numbers


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ticks", type=int, default=Sizes.ticks, help="at 200,000 tuples per epoch")
    parser.add_argument("--window", type=int, help="VWAP over the symbol's last WINDOW trades, not over all of them")
    parser.add_argument("--only", nargs="+", choices=CHOICES, default=CHOICES)
    parser.add_argument("--quick", action="store_true", help="a few 10,000 ticks, 2 rounds: does it work?")
    parser.add_argument("--where", action="store_true", help="only show where an epoch's time goes")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    sizes, rounds = (QUICK, 2) if options.quick else (Sizes(ticks=options.ticks), options.rounds)
    if sizes.ticks // sizes.file_rows <= sizes.warm_small:
        parser.error(f"--ticks: more than {sizes.warm_small} epochs of {sizes.file_rows:,} are needed")
    facts = machine("pyspark", "pyarrow", "numpy", "pandas", "polars")
    kept = {"rounds": rounds, "ticks": sizes.ticks, "window": options.window or "all"}
    document: dict[str, Any] = {"machine": facts, "options": kept}
    # Without its own figures or the peer that they are compared with, there is nothing to keep.
    complete = not options.quick and {THALWEG, "applyInPandasWithState"} <= set(options.only)
    file = Path(__file__).with_name("results" if options.window is None else f"results-window-{options.window}")

    def keep(results: Results) -> None:
        """After every round: a run of an hour that is stopped must not be lost."""
        document.update(rates=results.rates, fixed_ms=results.fixed_ms, epochs_ms=results.epochs_ms)
        if complete:
            write_results(file, "Thalweg on Spark: last results", results.report(), document)

    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"  # applyInPandasWithState's own use of pandas, every epoch
    only = [THALWEG] if options.where else options.only
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch,
        spark_session(MASTER, SESSION, 1),  # all contenders run in this one JVM
    ):
        bench = Bench(Path(scratch), sizes, only, options.window)
        bench.prepare()
        bench.check()
        if options.where:
            print(bench.where())
            return
        bench.warm_up()
        bench.run(rounds, keep)
    print(json.dumps(document) if options.json else bench.results.report())


if __name__ == "__main__":
    main()
