"""An independent implementation of the bargains example, to check a result against: no Thalweg in it, but for the run
itself.

python examples/check_bargains.py [spark|local]
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Bargain = tuple[str, float, float, float]


def expected_bargains(folder: Path, limit: int | None = None) -> Iterator[Bargain]:
    """Exact sums over each symbol's last 50 trades."""
    trades: dict[str, deque[tuple[float, int]]] = {}
    for file in sorted(folder.glob("*.parquet")):
        table = pq.read_table(file)
        for kind, symbol, price, volume in zip(*(column.to_pylist() for column in table.columns), strict=True):
            if limit is not None and limit <= 0:
                return
            limit = None if limit is None else limit - 1
            if kind == "T":
                trades.setdefault(symbol, deque(maxlen=50)).append((price, volume))
            elif symbol in trades:
                window = trades[symbol]
                vwap = math.fsum(p * v for p, v in window) / sum(v for _, v in window)
                if vwap > price:
                    yield symbol, price, vwap, (vwap - price) * volume


def disagreement(found: Iterable[tuple[Any, ...]], expected: Iterable[Bargain]) -> str | None:
    """The first bargain that differs by more than rounding, or None."""
    for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        same = ours[:2] == theirs[:2] and all(
            math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(ours[2:], theirs[2:], strict=True)
        )
        if not same:
            return f"bargain {row}: found {ours}, expected {theirs}"
    return None


def main() -> int:
    from bargains import TICKS, app

    import thalweg as tw

    result = tw.run(app, engine=sys.argv[1] if len(sys.argv) > 1 else "local", degree=2, max_tuples_per_epoch=50_000)
    problem = disagreement(result.tuples(), expected_bargains(TICKS))
    print(problem or f"{result.tuples_out['found']:,} bargains agree with an independent implementation")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
