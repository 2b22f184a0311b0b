"""What all benchmarks share: interleaved rounds, ratios within a round, tables, and the files that hold the results.

Machines are noisy and drift. So contenders are run one after the other in every round, in an order that turns with
the round, and are compared only within a round; what is reported is the median over the rounds and how far it spread.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

Measured = dict[str, list[float]]  # contender to one value per round


@dataclass(frozen=True, slots=True)
class Spread:
    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(statistics.median(values), min(values), max(values))

    def text(self, digits: int = 0) -> str:
        median, low, high = (f"{value:,.{digits}f}" for value in (self.median, self.low, self.high))
        return f"{median} ({low}..{high})"


def interleaved(names: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Every contender once per round; each round starts with another one."""
    for number in range(rounds):
        first = number % len(names) if names else 0
        for name in (*names[first:], *names[:first]):
            yield number, name


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread | None:
    """Ours over theirs, round by round."""
    pairs = list(zip(ours, theirs, strict=False))  # the last round may be under way
    return Spread.of([a / b for a, b in pairs]) if pairs else None


def rate_table(rates: Measured, peers: Measured) -> str:
    """A row per contender: tuples per second, and the ratio to each peer."""
    header = ["contender", "tuples/s", *(f"× {title}" for title in peers)]
    rows = [
        [name, Spread.of(values).text(), *(_cell(ratio(values, theirs)) for theirs in peers.values())]
        for name, values in rates.items()
    ]
    return table(header, rows)


def best(rates: Sequence[Sequence[float]]) -> list[float]:
    """The best of several contenders in each round."""
    return [max(values) for values in zip(*rates, strict=False)]


def _cell(found: Spread | None) -> str:
    return "" if found is None else found.text(2)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that also reads well as plain text: names to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.rjust(widths[i]) if i else cell.ljust(widths[i]) for i, cell in enumerate(cells))
        return f"| {' | '.join(padded)} |"

    rule = f"|{'|'.join('-' * (w + 1) + ('-:'[i > 0]) for i, w in enumerate(widths))}|"
    return "\n".join([line(header), rule, *map(line, rows)])


def machine(*packages: str) -> dict[str, str]:
    """Where and when this was measured."""
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": str(os.cpu_count()),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def write_results(file: Path, title: str, report: str, document: Mapping[str, Any], script: str = "bench.py") -> None:
    """Two files next to each other: `file`.md for readers, `file`.json with every round."""
    facts, options = (
        ", ".join(f"{name} {value}" for name, value in document[part].items()) for part in ("machine", "options")
    )
    how = "Median over the rounds (least..greatest); ratios are taken within a round."
    text = f"# {title}\n\nWritten by `{script}`. {how}\n\n{facts}; {options}\n\n{report}\n"
    file.with_suffix(".md").write_text(text)
    file.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
