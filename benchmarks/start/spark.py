"""Where the time of a start on Spark goes: three rows, from the command to its end, part by part.

    python benchmarks/start/spark.py --rounds 5
    python benchmarks/start/spark.py --variant plain: --variant c1:spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1

Every start is a process of its own. CPU time counts the driver, the JVM and all Python processes that it starts; on a
busy machine it is the better measure. Variants take turns within a round, and ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.start.three_rows import write_application

CHILD = Path(__file__).with_name("spark_parts.py")


def main() -> None:
    arguments = parsed()
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.variants}
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_application(Path(scratch))
        for number in range(arguments.rounds + 1):  # the first one fills the caches of the disk
            for name, settings in arguments.variants.items():
                run = one_start(arguments.python, folder, settings)
                if number > 0:
                    runs[name].append(run)
                print(f"round {number}, {name}: {run['wall_s']:.1f} s, {run['cpu_s']:.1f} s of CPU", file=sys.stderr)
    for name, found in runs.items():
        print(f"\n{name}")
        show_parts(found)
    show_ratios(runs)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="an interpreter in whose environment Thalweg is")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME:KEY=VALUE,KEY=VALUE", help="Spark settings; repeated"
    )
    arguments = parser.parse_args()
    arguments.variants = variants(arguments.variant)
    return arguments


def variants(texts: Sequence[str]) -> dict[str, list[str]]:
    given = [text.partition(":") for text in texts] or [("as it is", ":", "")]
    return {name: settings.split(",") if settings else [] for name, _, settings in given}


def one_start(python: str, folder: Path, settings: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(CHILD), str(folder), *settings], stdout=subprocess.PIPE, start_new_session=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show_parts(runs: Sequence[Mapping[str, Any]]) -> None:
    print(f"{'part':<44}{'wall s':>8}{'share':>8}{'CPU s':>8}{'JVM':>8}{'Python':>8}")
    whole = median(run["wall_s"] for run in runs)
    for part in runs[0]["parts"]:
        wall, cpu, jvm = (median(run["parts"][part][key] for run in runs) for key in ("wall_s", "cpu_s", "jvm_s"))
        print(f"{part:<44}{wall:>8.2f}{wall / whole:>8.0%}{cpu:>8.2f}{jvm:>8.2f}{cpu - jvm:>8.2f}")
    cpu = median(run["cpu_s"] for run in runs)
    print(f"{'all':<44}{whole:>8.2f}{1:>8.0%}{cpu:>8.2f}")


def show_ratios(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    first, *others = runs
    for name in others:
        for key in ("wall_s", "cpu_s"):
            ratios = [new[key] / old[key] for old, new in zip(runs[first], runs[name], strict=True)]
            print(f"{name} against {first}, {key}: {median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})")


if __name__ == "__main__":
    main()
