"""What the commands print: a plan in short, all of it with --verbose, only errors with --quiet; relative paths."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.graphs import GRAPHS
from tests.small import Small, Stop, stop_after, thalweg
from thalweg.cli.show_plan import summary
from thalweg.errors import GraphError, Where
from thalweg.ir.layout import layout
from thalweg.optimize.passes import make_plan
from thalweg.relative_paths import relative_paths


@pytest.mark.parametrize("fuse", ["all", "none"])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_summary_has_a_short_line_per_stage(name: str, fuse: str) -> None:
    plan = make_plan(GRAPHS[name](), degree=3, fuse=fuse)
    lines = summary(plan).splitlines()
    stages = [line for line in lines if line.startswith("  stage ")]
    assert len(stages) == len(layout(plan).stages)
    assert len(lines) == 1 + len(stages) + 1 + bool(plan.graph.params)
    assert all(len(line) <= 100 for line in lines)


def test_the_summary_names_channels_keys_and_sinks() -> None:
    assert summary(make_plan(GRAPHS["bargains"](), degree=2)).splitlines() == [
        "application bargains: 8 operators, 2 stages",
        "  stage 0 (2 channels): ticks, trades, quotes",
        "  stage 1 (2 channels by symbol): vwap, bargains.join, bargains.filter, bargains",
        "  sinks: out",
    ]


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path)


@pytest.mark.slow
def test_run_is_short_verbose_or_quiet(small: Small) -> None:
    app, run = str(small.app()), ("--engine", "local", "--overwrite")
    short = thalweg("run", app, *run, cwd=small.folder).stdout
    assert short.startswith("application small: ")
    assert "cut-invariant" not in short
    whole = thalweg("run", app, *run, "--verbose", cwd=small.folder).stdout
    assert whole.startswith(thalweg("explain", app, cwd=small.folder).stdout)
    quiet = thalweg("run", app, *run, "--quiet", cwd=small.folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    both = thalweg("run", app, *run, "--quiet", "--verbose", cwd=small.folder)
    assert (both.returncode, both.stdout) == (2, "")
    events = thalweg("run", app, *run, "--quiet", "--json", cwd=small.folder).stdout.splitlines()
    assert [json.loads(line)["event"] for line in events][-2:] == ["epoch", "end"]


@pytest.mark.slow
def test_quiet_leaves_errors_and_what_console_sinks_print(small: Small) -> None:
    printing = small.app(('gains.sink(tw.collect(), name="kept")', 'gains.sink(tw.console(1), name="kept")'))
    done = thalweg("run", str(printing), "--engine", "local", "-q", "--balance", cwd=small.folder)
    assert "symbol" in done.stdout
    assert "application" not in done.stdout
    assert done.stderr == "", "a warning is not an error"
    again = thalweg("run", str(printing), "--engine", "local", "-q", cwd=small.folder)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("checkpoint error: the sink's folder out is not empty")


@pytest.mark.slow
def test_every_command_with_progress_obeys_quiet(small: Small) -> None:
    app = str(small.app())
    for command in (
        ("check", app, "--tuples", "100", "--plans", "6"),
        ("run", app, "--engine", "local", "--checkpoint", "checkpoint"),
        ("doctor",),
    ):
        done = thalweg(*command, "--quiet", cwd=small.folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_paths_are_relative_to_the_working_directory(small: Small) -> None:
    """Whatever a command is given, and whatever it prints: errors, plans, reasons, checkpoints, sinks."""
    opaque = (
        'quotes = ticks.filter(lambda t: t.kind == "Q")',
        "quotes = ticks.filter(lambda t: eval('t.kind == \"Q\"'))",
    )
    app, broken = str(small.app(opaque)), str(small.app(("price: float", "price: str")))
    with pytest.raises(Stop):
        small.run("local", opaque, watch=stop_after(1))
    old, new = str(small.checkpoint), str(small.folder / "new")
    commands = (
        ("explain", app, "--facts"),
        ("check", app, "--tuples", "100", "--plans", "6"),
        ("run", broken, "--engine", "local"),
        ("run", str(small.folder / "missing.py")),
        ("run", app, "--engine", "local", "--checkpoint", str(small.folder / "other")),
        ("state", old),
        ("state", str(small.folder)),
        ("migrate", old, old),
        ("migrate", old, new),
        ("state", old),
        ("run", app, "--engine", "local", "--checkpoint", old),
    )
    for command in commands:
        done = thalweg(*command, cwd=small.folder)
        assert str(small.folder) not in done.stdout + done.stderr, command
        assert done.stdout + done.stderr
    document = json.loads(
        thalweg("run", broken, "--engine", "local", "--json", cwd=small.folder).stdout.splitlines()[-1]
    )
    assert document["where"].startswith(str(small.folder))


def test_only_paths_inside_are_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    here = os.getcwd()
    for text, shown in {
        f"cannot read {here}/a/b.csv: no": "cannot read a/b.csv: no",
        f"{here}/app.py:12, called at {here}/lib.py:3": "app.py:12, called at lib.py:3",
        f"the folder {here} is not empty": "the folder . is not empty",
        f"(in {here}).": "(in .).",
        f"--checkpoint={here}/state '{here}/x y'": "--checkpoint=state 'x y'",
    }.items():
        assert relative_paths(text) == shown
    for text in (
        f"{here}2/a",
        f"{here}-old/a",
        f"{here}.bak",
        f"file://{here}/a",
        f"file:{here}/a",
        f"/mnt{here}/a",
        "../a",
        "~/a",
    ):
        assert relative_paths(text) == text
    error = GraphError("wrong", where=Where(f"{here}/app.py", 3), found=f"{here}/data")
    assert str(error) == "wrong  (app.py:3)\n  found: data"
    assert error.as_json()["where"] == f"{here}/app.py:3"
    monkeypatch.chdir("/")
    assert relative_paths("/etc/hosts") == "/etc/hosts"
