"""Two commits against each other, interleaved: python -m benchmarks.versions.compare OLD [NEW] [--spark]

Each version runs in a process of its own, with its own Thalweg and its own benchmark code; in every round, each job
runs once in each version. The processes are started several times, because the layout of a process's memory changes its
speed by some percent. The result is old time ÷ new time, round by round: above 1, the new version is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from benchmarks.harness import Measured, Spread, machine, ratio, table, write_results

ROOT = Path(__file__).parents[2]
OLD, NEW = "old", "new"


class Version:
    """A process that runs the jobs of one checkout."""

    def __init__(self, checkout: Path, python: str, kind: str, scratch: Path) -> None:
        scratch.mkdir()
        path = [checkout / "src", checkout, checkout / "examples"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "POLARS_MAX_THREADS": "1"}
        script = ROOT / "benchmarks" / "versions" / "jobs.py"
        self.process = subprocess.Popen(
            [python, "-P", str(script), kind, str(scratch)],
            env=environment,
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.jobs: list[str] = json.loads(self._answer())

    def seconds(self, job: str) -> float:
        assert self.process.stdin is not None
        print(job, file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            sys.exit(f"the process of a version ended with {self.process.wait()}")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def checkout_of(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="thalweg-version-") as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


def compare(options: argparse.Namespace, kind: str) -> dict[str, Measured]:
    seconds: dict[str, Measured] = {}
    with checkout_of(options.old) as old, checkout_of(options.new) as new:
        for start in range(options.starts):
            with (
                tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch,
                Version(old, options.old_python, kind, Path(scratch, OLD)) as older,
                Version(new, sys.executable, kind, Path(scratch, NEW)) as newer,
            ):
                run_rounds(older, newer, options.rounds, seconds)
            print(f"start {start + 1} of {options.starts}\n{report(seconds)}", file=sys.stderr, flush=True)
    return seconds


def run_rounds(older: Version, newer: Version, rounds: int, seconds: dict[str, Measured]) -> None:
    for number in range(rounds):
        for job in (job for job in older.jobs if job in newer.jobs):
            measured = seconds.setdefault(job, {OLD: [], NEW: []})
            for name, version in sorted({OLD: older, NEW: newer}.items(), reverse=number % 2 == 1):
                measured[name].append(version.seconds(job))


def report(seconds: dict[str, Measured]) -> str:
    rows = []
    for job, measured in seconds.items():
        found = ratio(measured[OLD], measured[NEW])
        assert found is not None
        rows.append([job, found.text(3), Spread.of([s * 1_000 for s in measured[NEW]]).text()])
    return table(["job", "old ÷ new", "new, ms"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", nargs="?", default="HEAD", help="a commit")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5, help="per start")
    parser.add_argument("--old-python", default=sys.executable, help="for an old version that needs other packages")
    parser.add_argument("--spark", action="store_true", help="on Spark instead of the local engine")
    options = parser.parse_args()
    kind = "spark" if options.spark else "local"
    facts = machine("numpy", "pyarrow", "pyspark")
    seconds = compare(options, kind)
    print(report(seconds))
    kept = {name: getattr(options, name) for name in ("old", "new", "starts", "rounds")}
    document = {"machine": facts, "options": kept, "seconds": seconds}
    file = Path(__file__).with_name(f"results-{kind}")
    write_results(file, f"Old against new, {kind}: last results", report(seconds), document, "compare.py")


if __name__ == "__main__":
    main()
