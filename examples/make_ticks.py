"""Seeded ticks for the bargains example: python examples/make_ticks.py [FOLDER] [--ticks N] [--files N]"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SYMBOLS = 1_000
TICKS, FILES = 400_000, 4
FOLDER = Path(__file__).parent / "data" / "ticks"


def tick_table(rows: int, seed: int, symbols: int = SYMBOLS) -> pa.Table:
    """Half trades, half quotes; few symbols are traded much, most of them little."""
    chance = np.random.default_rng(seed)
    names = np.array([f"S{i:03d}" for i in range(symbols)])
    weights = 1 / np.arange(1, symbols + 1) ** 1.1
    return pa.table(
        {
            "kind": np.where(chance.random(rows) < 0.5, "T", "Q"),
            "symbol": names[chance.choice(symbols, rows, p=weights / weights.sum())],
            "price": chance.uniform(1, 100, rows),
            "volume": chance.integers(1, 101, rows),
        }
    )


def make_ticks(folder: Path, ticks: int = TICKS, files: int = FILES, symbols: int = SYMBOLS) -> None:
    """Write the files whole: a source must never see half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(files):
        rows = ticks * (index + 1) // files - ticks * index // files
        temporary = folder / f".ticks-{index:03d}"
        pq.write_table(tick_table(rows, seed=index, symbols=symbols), temporary)
        os.replace(temporary, folder / f"ticks-{index:03d}.parquet")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--ticks", type=int, default=TICKS)
    parser.add_argument("--files", type=int, default=FILES)
    options = parser.parse_args()
    make_ticks(options.folder, options.ticks, options.files)
    print(f"{options.ticks:,} ticks in {options.files} files of {options.folder}")
