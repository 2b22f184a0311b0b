"""The sensor query by two nested loops, to check a result against: no Thalweg in it, but for the run itself.

python examples/check_sensor_query.py
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

TEN_SECONDS = timedelta(seconds=10)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def expected_results(folder: Path, per_epoch: int = 10**9) -> Iterator[tuple[Any, ...]]:
    """For each query, the sensors that came before it: with epochs, those of its epoch and of earlier ones.

    An epoch takes half of its tuples from each source, sensors first.
    """
    sensors, queries = rows_of(folder / "sensors"), rows_of(folder / "queries")
    share = per_epoch // 2
    for number, query in enumerate(queries):
        asked = datetime.fromisoformat(query["qtime"])
        for sensor in sensors[: (number // share + 1) * share]:
            age = asked - datetime.fromisoformat(sensor["stime"])
            here, there = query["qloc"], sensor["sloc"]
            apart = math.hypot(there["x"] - here["x"], there["y"] - here["y"])
            if timedelta(0) <= age <= TEN_SECONDS and apart <= query["radius"]:
                yield query["qid"], sensor["sid"], sensor["value"], sensor["stime"], apart


def found_results(tuples: Sequence[tuple[Any, ...]], names: list[str]) -> Sequence[tuple[Any, ...]]:
    """What is compared of a result."""
    rows = [dict(zip(names, values, strict=True)) for values in tuples]
    return [(r["qid"], r["sid"], r["value"], r["stime"].isoformat(), r["distance"]) for r in rows]


def main() -> int:
    from sensor_query import DATA, app

    import thalweg as tw

    result = tw.run(app, engine="local")
    found = found_results(result.tuples(), result.collected["found"].column_names)
    same = found == list(expected_results(DATA))
    print(f"{len(found):,} results {'agree' if same else 'do NOT agree'} with two nested loops")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
