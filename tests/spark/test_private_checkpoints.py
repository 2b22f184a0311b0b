"""What a run on Spark leaves and opens: no code runs from a checkpoint that is looked at, only its owner can read what
Thalweg and Spark write, and ports are on this machine only. The local engine's part is in tests/engine."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import thalweg as tw
from tests.small import THALWEG
from tests.spark.processes import Run, session_members
from tests.tcp import free_port
from tests.traces import contents
from thalweg.cli.main import cli
from thalweg.engine.core.run import RunOptions
from thalweg.engine.spark.run import run_spark
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.errors import TupleError
from thalweg.ir.secret import Secret
from thalweg.optimize.passes import make_plan

pytestmark = [pytest.mark.spark]

WORD = b"A-word-of-the-tuples"  # to be found in files


class Row(tw.Tuple):
    i: int
    k: str


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.makedirs, (self.marker, 0o700, True)


class Keeps(tw.Operator):
    def __init__(self, marker: str) -> None:
        self.marker, self.held = marker, list[Any]()

    def process(self, t: Any, port: int) -> None:
        self.held = [Evil(self.marker)]
        self.submit(t)


def reachable(path: Path) -> bool:
    """Whether another user could open it, as far as its modes and those of its folders go."""
    return bool(path.stat().st_mode & 0o077) and all(folder.stat().st_mode & 0o011 for folder in path.parents)


def files_with(word: bytes, folder: Path) -> list[Path]:
    return [file for file, data in contents(folder) if word in data]


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def marker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marks") / "marker"


@pytest.fixture(scope="module")
def spark_files(spark: SparkSession) -> Path:
    """Spark's folder for the tuples of exchanges."""
    (folder,) = spark.sparkContext.getConf().get("spark.local.dir").split(",")  # type: ignore[union-attr]
    return Path(folder)


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, spark_files: Path, marker: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped run. While it runs, an epoch checks what Spark has written."""
    folder = tmp_path_factory.mktemp("private")
    folder.chmod(0o755)
    app = tw.App("private")
    rows = app.source(tw.iterable([Row(i, f"{i % 3}{WORD.decode()}") for i in range(40)]), Row, name="rows")
    rows.custom(Keeps(str(marker)), Row, by="k", name="keeps").sink(tw.collect(), name="kept")
    found: list[Path] = []

    def watch(report: EpochReport) -> None:
        found.extend(files_with(WORD, spark_files))
        if report.epoch == 1:
            assert found, "Spark keeps the tuples of exchanges elsewhere"
            assert [file for file in found if file.exists() and reachable(file)] == []
            raise Stop

    before = os.umask(0)
    try:
        with pytest.raises(Stop):
            run_spark(make_plan(app.graph(), degree=2), RunOptions(folder / "state", max_tuples_per_epoch=10), watch)
    finally:
        os.umask(before)
    return folder / "state"


def look(checkpoint: Path) -> str:
    done = CliRunner().invoke(cli, ["state", str(checkpoint), "--json"])
    CliRunner().invoke(cli, ["migrate", str(checkpoint), f"{checkpoint}-new", "--engine", "local"])
    return done.output


def test_no_object_in_the_state_runs_code_when_it_is_looked_at(checkpoint: Path, marker: Path, tmp_path: Path) -> None:
    assert marker.is_dir(), "a worker has read the state"
    marker.rmdir()
    copy = tmp_path / "state"
    shutil.copytree(checkpoint, copy)
    (state,) = json.loads(look(copy))["operators"]
    assert state["keys"] == 3
    moved = inspect_checkpoint(Path(f"{copy}-new")).operator("keeps")
    for entries in (list(moved.entries()), list(inspect_checkpoint(copy).operator("keeps").entries())):
        assert {repr(entry.values["held"]) for entry in entries} == {f"[makedirs('{marker}', 448, True)]"}
        assert len(entries) == 3
    assert not marker.exists()


def test_no_file_runs_code_when_it_is_looked_at(checkpoint: Path, marker: Path, tmp_path: Path) -> None:
    """Each part of the checkpoint in turn, with all of its files."""
    shutil.rmtree(marker, ignore_errors=True)
    evil = pickle.dumps(Evil(str(marker)))
    parts = sorted({file.relative_to(checkpoint).parts[0] for file in checkpoint.rglob("*") if file.is_file()})
    assert {"log", "manifest.json", "progress", "results", "spark", "spool"} <= set(parts)
    for part in parts:
        copy = tmp_path / f"copy-{part}"
        shutil.copytree(checkpoint, copy)
        for file in [copy / part, *(copy / part).rglob("*")]:
            if file.is_file():
                file.write_bytes(evil)
        look(copy)
        assert not marker.exists(), part


def test_only_the_owner_can_read_a_checkpoint(checkpoint: Path) -> None:
    """Spark's files are in a folder that only the owner can enter."""
    inner = Checkpoint(checkpoint).spark
    assert list(files_with(WORD, checkpoint))
    made = [path for path in (checkpoint, *checkpoint.rglob("*")) if inner not in path.parents]
    assert inner in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


def test_ports_are_on_this_machine_only(spark: SparkSession) -> None:
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    found = [address for pid in (jvm, os.getpid()) for address in listening(pid)]
    assert found
    assert set(found) == {"127.0.0.1"}


def test_the_web_interface_is_on_this_machine_only(tmp_path: Path) -> None:
    """In a process of its own: it must be switched on when Spark starts."""
    (tmp_path / "tiny.py").write_text(
        "import thalweg as tw\n\nclass T(tw.Tuple):\n    i: int\n\napp = tw.App('tiny')\n"
        "app.source(tw.beacon(lambda i: {'i': i}, count=None), T).sink(tw.none())\n"
    )
    conf = ("--conf", "spark.ui.enabled=true", "--conf", f"spark.ui.port={free_port()}")
    command = [*THALWEG, "run", "tiny.py", "--master", "local[1]", "--follow", "--checkpoint", "state", *conf]
    run = Run(command, tmp_path / "said", cwd=tmp_path)
    found: set[str] = set()
    try:
        assert run.wait_until((tmp_path / "state" / "log" / "0000000000.json").exists), run.said.read_text()
        for pid in session_members(run.process.pid):
            found.update(listening(pid))
    finally:
        run.kill()
    assert found == {"127.0.0.1"}


def listening(pid: int) -> Iterator[str]:
    """The addresses at which a process accepts connections; none if it has ended."""
    held: set[str] = set()
    lines: list[tuple[socket.AddressFamily, str]] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                held.add(os.readlink(fd))
        for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
            lines += [(family, line) for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
    for family, line in lines:
        fields = line.split()
        local, state = fields[1], fields[3]
        if state == "0A" and f"socket:[{fields[9]}]" in held:
            words = bytes.fromhex(local.partition(":")[0])
            packed = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
            yield socket.inet_ntop(family, packed).removeprefix("::ffff:")


SECRET = "guarded-horse-and-cart"


class Tells(tw.Operator):
    def __init__(self, key: Any, policy: str) -> None:
        self.key, self.policy = key, policy

    def process(self, t: Any, port: int) -> None:
        if t.i % 4 == 3:
            raise ValueError(f"{self.key.reveal()} {[self.key.reveal()]}")
        if t.i == 10 and self.policy == "exit":
            sys.exit(self.key.reveal())
        self.submit(t)


@pytest.mark.parametrize("policy", ["dead_letter", "exit"])
def test_a_secret_in_errors_and_dead_letters_is_in_no_file(
    spark_files: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], policy: str
) -> None:
    """Whether the run succeeds or fails."""
    app = tw.App("guarded")
    rows = app.source(tw.iterable([Row(i, f"{i % 3}") for i in range(20)]), Row, name="rows")
    on_error = "dead_letter" if policy == "dead_letter" else "fail"
    if policy == "exit":
        rows = rows.filter(lambda t: t.i % 4 != 3)
    told = rows.custom(Tells(Secret(SECRET), policy), Row, by="k", name="tells", on_error=on_error)
    told.sink(tw.files(tmp_path / "out", format="jsonl"), name="out")
    if policy == "dead_letter":
        told.dead_letters.sink(tw.files(tmp_path / "dead", format="jsonl"), name="dead")

    def run() -> None:
        run_spark(make_plan(app.graph(), degree=2), RunOptions(tmp_path / "state"), lambda report: None)

    if policy == "exit":
        with pytest.raises(TupleError, match=r"SystemExit: \*\*\*") as failure:
            run()
        assert failure.value.found == "Row(i=10, k='1')"
    else:
        run()
        assert files_with(b"ValueError: *** [***]", tmp_path)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err
    forms = [SECRET.encode(), *(base64.b64encode(SECRET.encode()[skip:])[4:-4] for skip in range(3))]
    assert [file for form in forms for folder in (tmp_path, spark_files) for file in files_with(form, folder)] == []
