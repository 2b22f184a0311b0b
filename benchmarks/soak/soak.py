"""A run that does not end: memory and latency of `thalweg run --follow` at a steady load. See README.md.

First it drains a backlog, which gives the capacity; then files come at a share of it. Latency is that of a file: from
the moment it has its name until the epoch that took its last tuple is whole.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import pyarrow.parquet as pq
from benchmarks.harness import machine, table
from benchmarks.soak.processes import memory_by_role
from make_ticks import tick_table

ROWS = 100_000  # in a file


@dataclass
class Load:
    """Files with the same ticks under ever new names. What was taken long ago is deleted."""

    folder: Path
    template: Path
    named_at: list[float] = field(default_factory=list)

    def add(self) -> None:
        os.link(self.template, self.folder / f"ticks-{len(self.named_at):08d}.parquet")
        self.named_at.append(time.monotonic())

    def forget(self, before: int) -> None:
        for number in range(max(0, before - 100), before):
            (self.folder / f"ticks-{number:08d}.parquet").unlink(missing_ok=True)


@dataclass
class Epochs:
    """The JSON events of the run, as they are printed."""

    seen: list[tuple[float, int, float]] = field(default_factory=list)  # when, tuples in, seconds
    total: int = 0

    def follow(self, lines: Iterator[str]) -> None:
        for line in lines:
            event = json.loads(line)
            if "event" not in event:
                say(line.strip())  # an error
            elif event["event"] == "epoch":
                self.total += event["tuples_in"]
                self.seen.append((time.monotonic(), event["tuples_in"], event["seconds"]))

    def done_at(self, tuples: int) -> Iterator[tuple[int, float]]:
        """For each file, by its number, when its last tuple was through."""
        taken = number = 0
        for when, count, _ in list(self.seen):
            taken += count
            while (number + 1) * tuples <= taken:
                yield number, when
                number += 1


def wait_for(epochs: Epochs, tuples: int, run: subprocess.Popen[str]) -> None:
    while epochs.total < tuples:
        if run.poll() is not None:
            sys.exit(f"the run ended by itself, with code {run.returncode}")
        time.sleep(0.05)


def capacity(epochs: Epochs, load: Load, run: subprocess.Popen[str], files: int) -> float:
    """Tuples per second while a backlog is drained, after the first third of it."""
    for _ in range(files):
        load.add()
    wait_for(epochs, files * ROWS, run)
    whole = [e for e in epochs.seen if e[1]]
    counted = whole[max(1, len(whole) // 3) :]
    return sum(e[1] for e in counted) / sum(e[2] for e in counted)


def soak(seconds: float, share: float, backlog: int, degree: int) -> Found:
    with tempfile.TemporaryDirectory(prefix="thalweg-soak-") as name:
        scratch = Path(name)
        ticks, found = scratch / "ticks", scratch / "found"
        ticks.mkdir()
        template = scratch / "template.parquet"
        pq.write_table(tick_table(ROWS, seed=1), template)
        command = [sys.executable, "-m", "thalweg.cli.main", "run", str(Path(__file__).with_name("app.py")), "--follow"]
        command += ["--json", "--degree", str(degree), "--interval", "0.1", "--checkpoint", str(scratch / "checkpoint")]
        command += ["--param", f"ticks={ticks}", "--param", f"found={found}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            epochs, load = Epochs(), Load(ticks, template)
            threading.Thread(target=epochs.follow, args=(iter(run.stdout),), daemon=True).start()
            load.add()
            wait_for(epochs, ROWS, run)  # started, and warm
            most = capacity(epochs, load, run, backlog)
            say(f"capacity {most:,.0f} tuples/s; now {share:.0%} of it for {seconds / 60:.0f} minutes")
            memory = feed(load, epochs, run, found, seconds, most * share)
            last = len(load.named_at)
            wait_for(epochs, last * ROWS, run)
            run.send_signal(signal.SIGTERM)  # a background job may ignore SIGINT
        return summary(epochs, load, memory, most, share, first=1 + backlog)


def feed(
    load: Load, epochs: Epochs, run: subprocess.Popen[str], found: Path, seconds: float, rate: float
) -> list[tuple[float, dict[str, int]]]:
    """Files at an even pace; memory every five seconds."""
    began = sampled = time.monotonic()
    memory: list[tuple[float, dict[str, int]]] = []
    before = len(load.named_at)
    while (now := time.monotonic()) - began < seconds:
        if run.poll() is not None:
            sys.exit(f"the run ended by itself, with code {run.returncode}")
        if len(load.named_at) - before < (now - began) * rate / ROWS:
            load.add()
        else:
            time.sleep(0.005)
        if now - sampled > 5:
            sampled = now
            memory.append((now - began, memory_by_role(run.pid)))
            load.forget(epochs.total // ROWS - 50)
            for file in sorted(found.glob("epoch-*.parquet"))[:-20]:
                file.unlink()
            if len(memory) % 12 == 0:
                shown = ", ".join(f"{role} {size >> 20} MB" for role, size in memory[-1][1].items())
                say(f"{(now - began) / 60:.0f} min: {shown}; {len(load.named_at) - epochs.total // ROWS} files wait")
    return memory


@dataclass(frozen=True)
class Found:
    capacity_tuples_per_s: float
    share: float
    epochs: int
    latency_ms: dict[str, int]
    epoch_ms: dict[str, int]
    memory_mb: dict[str, tuple[int, int]]  # by role: in the second third of the time, in the last third

    def report(self) -> str:
        times = [["file to output", *map(str, self.latency_ms.values())], ["epoch", *map(str, self.epoch_ms.values())]]
        memory = [[role, str(a), str(b), f"{b / max(1, a):.2f}"] for role, (a, b) in self.memory_mb.items()]
        return "\n\n".join(
            [
                f"{self.share:.0%} of {self.capacity_tuples_per_s:,.0f} tuples/s; {self.epochs:,} epochs.",
                table(["ms", *QUANTILES], times),
                table(["memory, MB", "second third", "last third", "ratio"], memory),
            ]
        )


QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def summary(
    epochs: Epochs, load: Load, memory: list[tuple[float, dict[str, int]]], most: float, share: float, first: int
) -> Found:
    latencies = [when - load.named_at[n] for n, when in epochs.done_at(ROWS) if n >= first]
    seconds = [e[2] for e in epochs.seen if e[0] > load.named_at[first] and e[1]]
    third = max(1, len(memory) // 3)

    def median_mb(role: str, samples: list[tuple[float, dict[str, int]]]) -> int:
        return round(statistics.median(sizes.get(role, 0) for _, sizes in samples) / 2**20)

    roles = {r: (median_mb(r, memory[third : 2 * third]), median_mb(r, memory[2 * third :])) for r in memory[-1][1]}
    return Found(most, share, len(seconds), quantiles_ms(latencies), quantiles_ms(seconds), roles)


def quantiles_ms(seconds: list[float]) -> dict[str, int]:
    ordered = sorted(seconds)
    return {name: round(1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))]) for name, q in QUANTILES.items()}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--share", type=float, default=0.8, help="of the capacity")
    parser.add_argument("--quick", action="store_true", help="one minute: does it work?")
    options = parser.parse_args()
    minutes = 1.0 if options.quick else options.minutes
    found = soak(minutes * 60, options.share, 20 if options.quick else 100, degree=2)
    print(found.report())
    if not options.quick:
        facts = machine("pyspark", "pyarrow")
        shown = ", ".join(f"{name} {value}" for name, value in facts.items())
        file = Path(__file__).with_name("results")
        title = f"# Soak test: last results\n\nWritten by `soak.py`, {minutes:g} minutes. {shown}\n\n"
        file.with_suffix(".md").write_text(f"{title}{found.report()}\n")
        file.with_suffix(".json").write_text(json.dumps({"machine": facts, "minutes": minutes, **asdict(found)}) + "\n")


if __name__ == "__main__":
    main()
