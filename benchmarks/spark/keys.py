"""Bargains with very many symbols: each epoch has every symbol once, so that the set of keys is stable after the first.

python benchmarks/spark/keys.py [--symbols 1000000] [--rounds 5] [--buckets N …]: tuples per second of Thalweg and of
applyInPandasWithState, and how Thalweg's epochs go on: the last ones against those right after the keys are known.
Plain PySpark calls a Python function for every key, so its tuples per second hardly depend on how many there are; a
million would take it minutes per epoch, and it gets --plain-symbols (a tenth) instead.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.harness import Measured, Spread, interleaved, machine, rate_table, ratio, table, write_results
from benchmarks.spark.contenders import MASTER, SESSION, Load, epoch_ms, run_plain, run_thalweg

from thalweg.engine.spark.session import spark_session

PLAIN = "applyInPandasWithState"
FILES = 5  # per epoch
EPOCHS, PLAIN_EPOCHS = 8, 3
WARM = 2  # epochs: in the first one every key is new


def write_epochs(folder: Path, symbols: int, epochs: int) -> None:
    folder.mkdir()
    names = np.array([f"S{i:07d}" for i in range(symbols)])
    for epoch in range(epochs):
        chance = np.random.default_rng(epoch)
        order = chance.permutation(symbols)
        for part, keys in enumerate(np.array_split(order, FILES)):
            seq = (epoch * FILES + part) * symbols + np.arange(len(keys))
            columns = {
                "kind": np.where(chance.random(len(keys)) < 0.5, "T", "Q"),
                "symbol": names[keys],
                "price": chance.uniform(1, 100, len(keys)),
                "volume": chance.integers(1, 101, len(keys)),
                "seq": seq,
            }
            pq.write_table(pa.table(columns), folder / f"ticks-{epoch:03d}-{part}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--symbols", type=int, default=1_000_000)
    parser.add_argument("--plain-symbols", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--buckets", type=int, nargs="*", default=[2], help="of Thalweg's state; each is a contender")
    options = parser.parse_args()
    symbols = {EPOCHS: options.symbols, PLAIN_EPOCHS: options.plain_symbols}
    ours = {f"thalweg, {n} buckets": n for n in options.buckets}
    rates: Measured = {}
    growth: Measured = {}
    with tempfile.TemporaryDirectory(prefix="thalweg-keys-") as name, spark_session(MASTER, SESSION, 1):
        scratch = Path(name)
        loads = {}
        for epochs in (EPOCHS, PLAIN_EPOCHS):
            folder = scratch / f"ticks-{epochs}"
            write_epochs(folder, symbols[epochs], epochs)
            loads[epochs] = Load(folder, epochs * symbols[epochs], symbols[epochs] // FILES, symbols[epochs])
        for number, contender in interleaved([*ours, PLAIN], options.rounds):
            with tempfile.TemporaryDirectory(dir=scratch) as made:
                out = Path(made) / "out"
                if contender == PLAIN:
                    tuples, ms = options.plain_symbols, epoch_ms(run_plain(PLAIN, loads[PLAIN_EPOCHS], out))[1:]
                else:
                    tuples = options.symbols
                    ms = epoch_ms(run_thalweg(loads[EPOCHS], out, buckets=ours[contender]))[WARM:]
                    half = len(ms) // 2
                    grown = statistics.median(ms[-half:]) / statistics.median(ms[:half])
                    growth.setdefault(contender, []).append(grown)
            rates.setdefault(contender, []).append(tuples * len(ms) * 1000 / sum(ms))
            print(f"round {number + 1}: {contender}: {' '.join(map(str, ms))} ms", file=sys.stderr, flush=True)
    growth_table = table(
        ["contender", "late epochs ÷ early ones"], [[n, Spread.of(g).text(2)] for n, g in growth.items()]
    )
    report = (
        f"## {options.symbols:,} symbols ({options.plain_symbols:,} for {PLAIN}), each once per epoch\n\n"
        f"{rate_table(rates, {PLAIN: rates[PLAIN]})}\n\n{growth_table}"
    )
    print(report)
    assert all(ratio(rates[n], rates[PLAIN]) for n in ours)
    document = {"machine": machine("pyspark"), "options": vars(options), "rates": rates, "growth": growth}
    write_results(Path(__file__).with_name("results-keys"), "Very many keys: last results", report, document)


if __name__ == "__main__":
    main()
