"""What a start imports: commands that run nothing must not load what runs things."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.cli import commands
from thalweg.cli.lazy_commands import SUMMARIES, function_of

HEAVY = ("networkx", "numpy", "pandas", "polars", "prometheus_client", "psycopg", "pyarrow", "pyspark")
APPLICATION = """
import thalweg as tw
from thalweg import agg, window

class Reading(tw.Tuple):
    sensor: str
    celsius: float

app = tw.App("hot")
readings = app.source(tw.files("readings/", format="csv"), Reading)
recent = readings.aggregate(window.sliding(count=3, by="sensor"), sensor=agg.any("sensor"), mean=agg.mean("celsius"))
hot = readings.join(recent, window.last(1, by="sensor"), on="sensor").filter(lambda r: r.celsius > r.mean + 5)
hot.sink(tw.collect(), name="alerts")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hot.py").write_text(APPLICATION)
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "monday.csv").write_text("sensor,celsius\nroof,20.5\nroof,21.5\nroof,36.0\n")
    return tmp_path


def imported(program: str, folder: Path) -> set[str]:
    """The modules that a new process has loaded when it ends."""
    listing = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    done = subprocess.run([sys.executable, "-c", listing + program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def command(*arguments: str) -> str:
    return f"sys.argv = ['thalweg', *{arguments}]\nfrom thalweg.cli.main import main\nmain()"


def test_the_package_alone_is_light(folder: Path) -> None:
    own = {name for name in imported("import thalweg", folder) if name.startswith("thalweg")}
    assert own == {"thalweg", "thalweg.lang", "thalweg.lang.embedding_loader"}


@pytest.mark.parametrize(
    "program", ["import hot", command("--help"), command("explain", "hot.py"), command("explain", "hot.py", "--facts")]
)
def test_what_runs_nothing_loads_no_engine(program: str, folder: Path) -> None:
    assert imported(program, folder) & {*HEAVY, "thalweg.engine.local.run", "thalweg.engine.spark.run"} == set()


def test_the_local_engine_needs_no_spark(folder: Path) -> None:
    found = imported(command("run", "hot.py", "--engine", "local"), folder)
    assert "thalweg.engine.local.run" in found
    assert found & {"networkx", "polars", "prometheus_client", "psycopg", "pyspark"} == set()


def test_help_lists_every_command_by_its_first_paragraph() -> None:
    modules = Path(commands.__file__).parent.glob("[!_]*.py")
    assert sorted(SUMMARIES) == sorted(module.stem for module in modules)
    for name, summary in SUMMARIES.items():
        paragraph = (inspect.getdoc(function_of(name)) or "").partition("\n\n")[0]
        assert summary == " ".join(paragraph.split())
