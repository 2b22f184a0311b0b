"""Looking into a checkpoint runs no code from it, and only its owner can read what Thalweg writes."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import shutil
import uuid
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

import thalweg as tw
from thalweg.cli.main import cli
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport, LocalState
from thalweg.errors import CheckpointError
from thalweg.optimize.passes import make_plan
from thalweg.runtime.plain_pickles import plain_loads
from thalweg.runtime.records import StoredEntry, pack_entries
from thalweg.runtime.state import pack_bucket

ROME = ZoneInfo("Europe/Rome")


class Row(tw.Tuple):
    i: int
    k: int


class Held:
    def __init__(self, row: Any) -> None:
        self.row = row


class Keeps(tw.Operator):
    def __init__(self) -> None:
        self.held: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        self.held.append(Held(t))
        self.submit(t)


class Stop(Exception):
    pass


def stop(report: EpochReport) -> None:
    if report.epoch == 1:
        raise Stop


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    app = tw.App("private")
    rows = app.source(tw.iterable([Row(i, i % 3) for i in range(40)]), Row, name="rows")
    rows.custom(Keeps(), Row, by="k", name="keeps").sink(tw.files(tmp_path / "out", format="jsonl"), name="out")
    rows.sink(tw.collect(), name="kept")
    before = os.umask(0)
    try:
        with pytest.raises(Stop):
            run_local(make_plan(app.graph(), degree=1), RunOptions(tmp_path / "state", max_tuples_per_epoch=10), stop)
    finally:
        os.umask(before)
    return tmp_path / "state"


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def look(checkpoint: Path) -> str:
    done = CliRunner().invoke(cli, ["state", str(checkpoint), "--json"])
    CliRunner().invoke(cli, ["state", str(checkpoint)])
    CliRunner().invoke(cli, ["migrate", str(checkpoint), f"{checkpoint}-new", "--degree", "2"])
    return done.output


def test_the_marker_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Evil(tmp_path / "marker")))
    assert (tmp_path / "marker").is_dir()


def test_no_file_of_a_checkpoint_runs_code_when_it_is_looked_at(checkpoint: Path, tmp_path: Path) -> None:
    evil = pickle.dumps(Evil(tmp_path / "marker"))
    files = [file.relative_to(checkpoint) for file in checkpoint.rglob("*") if file.is_file()]
    assert {file.parts[0] for file in files} >= {"local", "log", "spool", "results", "manifest.json", "progress"}
    for number, file in enumerate(files):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(checkpoint, copy)
        (copy / file).write_bytes(evil)
        look(copy)
        assert not (tmp_path / "marker").exists(), file


def test_no_pickle_inside_the_state_runs_code(checkpoint: Path, tmp_path: Path) -> None:
    """The snapshot, a bucket's list of keys, and the state of a key are pickles inside each other."""
    evil = pickle.dumps(Evil(tmp_path / "marker"))
    inner = pickle.dumps(((1,), (0,), {"held": Evil(tmp_path / "marker")}))
    parts = [evil, pack_entries([StoredEntry(1, 1, evil)]), pack_entries([StoredEntry(1, 1, inner)])]
    for part in parts:
        state = LocalState(Checkpoint(checkpoint))
        state.save(1, {(1, 0): {0: pack_bucket([("keeps", part)])}})
        look(checkpoint)
        assert not (tmp_path / "marker").exists()
        shutil.rmtree(f"{checkpoint}-new", ignore_errors=True)
    (entry,) = inspect_checkpoint(checkpoint).operator("keeps").entries()
    assert repr(entry.values["held"]) == f"mkdir('{tmp_path / 'marker'}')"


def test_times_with_a_zone_are_plain_data() -> None:
    """The pickle of a zone calls `getattr`, which finds the method that makes a zone and nothing else."""
    berlin = ZoneInfo("Europe/Berlin")
    again = datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=berlin)
    for value in (berlin, again, again.replace(tzinfo=UTC), again.replace(tzinfo=timezone(timedelta(hours=2)))):
        assert repr(plain_loads(pickle.dumps(value))) == repr(value)
    assert plain_loads(pickle.dumps(again)).utcoffset() == timedelta(hours=1)
    for method, name in ((datetime.now, "datetime.now"), (ZoneInfo.from_file, "ZoneInfo.from_file")):
        assert plain_loads(pickle.dumps(method)).__name__ == name


def test_objects_of_users_are_shown_by_name(checkpoint: Path) -> None:
    entries = {entry.key: entry.values for entry in inspect_checkpoint(checkpoint).operator("keeps").entries()}
    assert repr(entries[0,]["held"][0]) == "Held(row=Row(i=0, k=0))"


class Anything:
    """An object with any attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class OwnZone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=1)

    def dst(self, when: dt.datetime | None) -> None:
        return None

    def tzname(self, when: dt.datetime | None) -> str:
        return "own"


def circle() -> Anything:
    made = Anything(x=1)
    vars(made)["me"] = made
    return made


def self_containing() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Anything(contents=5, append=3), "Anything(contents=5, append=3)"),
        (circle(), "Anything(x=1, me=...)"),
        (self_containing(), "[[...]]"),
        (Anything(n=10**5000), "a Anything with an int of thousands of digits"),
        (ROME, f"{ROME!r}"),
        (dt.datetime(2024, 7, 1, tzinfo=ROME), f"datetime.datetime(2024, 7, 1, 0, 0, tzinfo={ROME!r})"),
        (dt.time(7, tzinfo=dt.UTC), "datetime.time(7, 0, tzinfo=datetime.timezone.utc)"),
        (dt.datetime(2024, 7, 1, tzinfo=OwnZone()), "datetime(datetime.datetime(2024, 7, 1, 0, 0), OwnZone())"),
    ],
)
def test_whatever_the_state_has_is_shown(checkpoint: Path, value: Any, text: str) -> None:
    part = pack_entries([StoredEntry(1, 1, pickle.dumps(((1,), (0,), {"it": value})))])
    LocalState(Checkpoint(checkpoint)).save(1, {(1, 0): {0: pack_bucket([("keeps", part)])}})
    (entry,) = json.loads(look(checkpoint))["operators"][0]["entries"]
    assert entry["values"]["it"] == text
    done = CliRunner().invoke(cli, ["state", str(checkpoint)])
    assert (done.exit_code, f"it={text}" in done.output) == (0, True), done.output


def test_only_the_owner_can_read_a_checkpoint_whatever_the_umask(checkpoint: Path, tmp_path: Path) -> None:
    made = [checkpoint, *checkpoint.rglob("*")]
    assert [path for path in made if path.stat().st_mode & 0o077] == []
    outputs = list((tmp_path / "out").glob("epoch-*"))
    assert outputs
    assert all(path.stat().st_mode & 0o777 == 0o666 for path in outputs)  # a sink's files are the user's


@pytest.mark.parametrize("cls", [Counter, Fraction, uuid.UUID, Decimal, dict])
def test_a_pickle_cannot_change_a_class(cls: type) -> None:
    """The opcode that sets the attributes of an object also takes a class."""
    names = b"".join(pickle.dumps(name, 0)[1:-1].split(b"\n")[0] + b"\n" for name in (cls.__module__, cls.__name__))
    with suppress(CheckpointError):
        plain_loads(b"c" + names + b"(N(Vmarked\nI1\ndtb.")
    assert not hasattr(cls, "marked")
    value = cls("1") if cls in (Fraction, Decimal) else cls(int=1) if cls is uuid.UUID else cls(a=1)
    assert repr(plain_loads(pickle.dumps(value))) == repr(value)
