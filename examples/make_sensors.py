"""Seeded sensors and queries: python examples/make_sensors.py [FOLDER] [--readings N] [--queries N] [--files N]"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"
START = datetime(2024, 5, 1, 12)
SENSORS, WIDTH_M = 50, 1000.0
READINGS, QUERIES = 10_000, 1_000


def place(chance: random.Random) -> dict[str, float]:
    return {"x": chance.uniform(0, WIDTH_M), "y": chance.uniform(0, WIDTH_M)}


def times(count: int, seconds: float, chance: random.Random) -> list[str]:
    """Moments in order."""
    return [
        (START + timedelta(microseconds=round(moment * 1e6))).isoformat()
        for moment in sorted(chance.uniform(0, seconds) for _ in range(count))
    ]


def make_sensors(folder: Path, readings: int = READINGS, queries: int = QUERIES, files: int = 1, seed: int = 0) -> None:
    """A reading every tenth of a second, of sensors that stand still; queries in between."""
    chance = random.Random(seed)
    seconds = readings / 10
    where = [place(chance) for _ in range(SENSORS)]
    said: list[dict[str, Any]] = []
    for time in times(readings, seconds, chance):
        sid = chance.randrange(SENSORS)
        said.append({"sid": sid, "value": round(chance.gauss(20, 5), 2), "sloc": where[sid], "stime": time})
    asked = [
        {"qid": qid, "qloc": place(chance), "radius": chance.uniform(50, 300), "qtime": time}
        for qid, time in enumerate(times(queries, seconds, chance))
    ]
    write(folder / "sensors", said, files)
    write(folder / "queries", asked, files)


def write(folder: Path, rows: Sequence[dict[str, Any]], files: int) -> None:
    """Write the files whole: a source must never see half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(files):
        part = rows[len(rows) * index // files : len(rows) * (index + 1) // files]
        temporary = folder / f".part-{index:03d}"
        temporary.write_text("".join(json.dumps(row) + "\n" for row in part))
        os.replace(temporary, folder / f"part-{index:03d}.jsonl")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--readings", type=int, default=READINGS)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--files", type=int, default=2)
    options = parser.parse_args()
    make_sensors(options.folder, options.readings, options.queries, options.files)
    print(f"{options.readings:,} readings and {options.queries:,} queries in {options.folder}")
