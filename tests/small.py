"""A small bargains-like application in a folder of its own, for tests that stop, break and restart runs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from make_ticks import tick_table

from tests.waiting import PATIENCE_S
from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.log import Epoch
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan

APP = """
from pathlib import Path

import thalweg as tw
from thalweg import agg, window

HERE = Path(__file__).parent


class Tick(tw.Tuple):
    kind: str
    symbol: str
    price: float
    volume: int


app = tw.App("small")
ticks = app.source(tw.files(HERE / "ticks"), Tick)
trades = ticks.filter(lambda t: t.kind == "T")
quotes = ticks.filter(lambda t: t.kind == "Q")
vwap = trades.aggregate(
    window.sliding(count=5, by="symbol"),
    symbol=agg.any("symbol"),
    vwap=agg.sum(lambda t: t.price * t.volume) / agg.sum("volume"),
)
bargains = quotes.join(vwap, window.last(1, by="symbol"), on="symbol").filter(lambda q: q.vwap > q.price)
bargains.sink(tw.files(HERE / "out"), name="files")
gains = bargains.map(lambda q: {"symbol": q.symbol, "gain": (q.vwap - q.price) * q.volume})
gains.sink(tw.collect(), name="kept")
"""
# A variant whose epochs last while the file `hold` exists; the file `held` shows that one has begun.
HOLDING = (
    'quotes = ticks.filter(lambda t: t.kind == "Q")',
    """
@tw.declare(state="stateless")
def hold(t):
    import time

    while (HERE / "hold").exists():
        (HERE / "held").touch()
        time.sleep(0.01)
    return t.kind == "Q"


quotes = ticks.filter(hold)
""",
)
SYMBOLS = 8
ROWS_PER_FILE = 60
PER_EPOCH = 40


class Stop(Exception):
    """Raised by a test's watcher to leave a run between two epochs."""


def stop_after(epoch: int) -> Callable[[EpochReport], None]:
    def watch(report: EpochReport) -> None:
        if report.epoch >= epoch:
            raise Stop

    return watch


@dataclass(frozen=True)
class Small:
    """The application's folder: `ticks` in, `out` and the checkpoint's results out."""

    folder: Path
    checkpoint: Path

    @staticmethod
    def make(folder: Path, files: int = 4) -> Small:
        small = Small(folder, folder / "checkpoint")
        for index in range(files):
            small.add_ticks(index)
        return small

    def add_ticks(self, index: int) -> Path:
        return self.add_table(tick_table(ROWS_PER_FILE, seed=index, symbols=SYMBOLS), f"{index:03d}.parquet")

    def add_table(self, table: pa.Table, name: str) -> Path:
        """Write the file whole: a source must never see half a file."""
        (self.folder / "ticks").mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}"
        pq.write_table(table, temporary)
        return temporary.rename(self.folder / "ticks" / name)

    def app(self, *changes: tuple[str, str]) -> Path:
        """The application's file. Each variant gets its own: Python caches code by path, size and second."""
        text = APP
        for old, new in changes:
            assert text.count(old) == 1, f"{text.count(old)} times in the application: {old}"
            text = text.replace(old, new)
        file = self.folder / f"small_{hashlib.sha256(text.encode()).hexdigest()[:8]}.py"
        file.write_text(text)
        return file

    def graph(self, *changes: tuple[str, str]) -> LogicalGraph:
        return load_app(str(self.app(*changes))).graph()

    def run(
        self,
        engine: str = "local",
        *changes: tuple[str, str],
        degree: int = 2,
        fuse: str = "all",
        overwrite: bool = False,
        in_process: bool = True,
        watch: Callable[[EpochReport], None] = lambda report: None,
    ) -> RunResult:
        options = RunOptions(
            self.checkpoint,
            max_tuples_per_epoch=PER_EPOCH,
            interval_s=0.05,
            overwrite=overwrite,
            master="local[2]",
            in_process=in_process,  # processes do not pay off for hundreds of tiny runs
        )
        return run_plan(make_plan(self.graph(*changes), degree=degree, fuse=fuse), engine, options, watch)

    def command(self, *options: str, app: Path | None = None) -> list[str]:
        """`thalweg run` of the application, for another process."""
        fixed = ("--checkpoint", str(self.checkpoint), "--max-tuples-per-epoch", str(PER_EPOCH), "--degree", "2")
        return [*THALWEG, "run", str(app or self.app()), *fixed, "--master", "local[2]", "--interval", "0.05", *options]

    def log(self) -> list[Epoch]:
        return list(Checkpoint(self.checkpoint).log)

    def output(self) -> dict[str, bytes]:
        """Names and bytes of all that the sinks hold, apart from the run's own name."""
        found = contents(self.folder / "out") | contents(self.checkpoint / "results")
        return {name: data for name, data in found.items() if not name.endswith("_thalweg.json")}


THALWEG = (sys.executable, "-m", "thalweg.cli.main")


def undisturbed(folder: Path, files: int = 4) -> dict[str, bytes]:
    """What the sinks hold after a run of the local engine that nothing disturbs."""
    small = Small.make(folder, files)
    small.run()
    return small.output()


def contents(folder: Path) -> dict[str, bytes]:
    """All files under a folder with their bytes."""
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder.parent)): p.read_bytes() for p in found}


def thalweg(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a user would see it."""
    return subprocess.run(
        [*THALWEG, *arguments], capture_output=True, text=True, cwd=cwd, timeout=PATIENCE_S, check=False
    )
