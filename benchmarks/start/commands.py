"""How long commands take that do next to nothing: --help, explain, and three rows on the local engine or on Spark.

    python benchmarks/start/commands.py --rounds 15
    python benchmarks/start/commands.py --old ../other/.venv/bin/thalweg
    python benchmarks/start/commands.py --old ../other/.venv/bin/thalweg --spark --rounds 3

With `--old` the commands of another checkout take turns with this one's, and ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.start.spark_parts import Processes
from benchmarks.start.three_rows import write_application

ON_SPARK = ("run hot.py --degree 2",)
COMMANDS = ("--help", "explain hot.py", "run hot.py --engine local", "run hot.py --engine local --degree 2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--old", type=Path, help="the command `thalweg` of another checkout")
    parser.add_argument("--spark", action="store_true", help="three rows on Spark, and nothing else")
    arguments = parser.parse_args()
    new = Path(sys.executable).with_name("thalweg")
    programs = [new] if arguments.old is None else [arguments.old.absolute(), new]
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_application(Path(scratch))
        for command in ON_SPARK if arguments.spark else COMMANDS:
            rounds = [[measured(program, command, folder) for program in programs] for _ in range(arguments.rounds + 1)]
            show(command, rounds[1:])  # the first one fills caches


def measured(program: Path, command: str, folder: Path) -> tuple[float, float]:
    """Seconds by the clock, and of CPU: of the processes that were seen, or, without Spark, were waited for."""
    before, began = os.times(), time.perf_counter()
    run = subprocess.Popen([program, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
    processes = Processes(run.pid) if command in ON_SPARK else None
    if processes is not None:
        processes.start()
    if run.wait() != 0:
        sys.exit(f"{program} {command} failed")
    wall, after = time.perf_counter() - began, os.times()
    if processes is not None:
        processes.join()  # the JVM ends later
        return wall, processes.cpu_s()[0]
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def show(command: str, rounds: list[list[tuple[float, float]]]) -> None:
    for index, what in enumerate(("wall", "CPU")):
        new = median(one[-1][index] for one in rounds)
        line = f"{command:<40} {what:<5}{new:6.2f} s"
        if len(rounds[0]) == 2:
            old = median(one[0][index] for one in rounds)
            ratios = sorted(one[0][index] / one[1][index] for one in rounds)
            line += f"   old {old:5.2f} s; old/new {median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})"
        print(line, flush=True)


if __name__ == "__main__":
    main()
