"""A source that reads nothing: a warning that names what was found instead."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.small import thalweg
from thalweg.api import run_plan
from thalweg.engine.core.run import RunOptions
from thalweg.engine.core.stop import Stop
from thalweg.engine.inputs.file_splits import SUFFIXES
from thalweg.errors import ThalwegWarning, kept_warnings
from thalweg.optimize.passes import make_plan


class Row(tw.Tuple):
    i: int


def run(endpoint: Any, *, follow: bool = False) -> tuple[str, ...]:
    app = tw.App("empty")
    app.source(endpoint, Row, name="rows").sink(tw.collect(), name="out")
    stop = Stop()
    if follow:
        stop.request()
    with warnings.catch_warnings(), kept_warnings() as kept:
        warnings.simplefilter("ignore", ThalwegWarning)
        done = run_plan(make_plan(app.graph()), "local", RunOptions(follow=follow, stop=stop))
    return (*kept, *done.warnings)


@pytest.mark.parametrize("format", list(SUFFIXES))
def test_each_format_names_what_it_found(tmp_path: Path, format: str) -> None:
    other = "csv" if format != "csv" else "jsonl"
    for name in (f"a.{other}", f"b.{other}", f"c.{other}", "d.txt.gz"):
        (tmp_path / name).write_text("")
    (tmp_path / "below").mkdir()
    wanted = " or ".join(f"*{suffix}" for suffix in SUFFIXES[format])
    found = f"3 files *.{other}, 1 file *.txt.gz, 1 folder"
    hint = f'format="{other}"?; compressed files are not read'
    said = f"rows read nothing: no file {wanted} in {tmp_path}, which has {found} ({hint})"
    assert run(tw.files(tmp_path, format=format)) == (said,)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "which is empty"),
        (["a.parquet.gz"], "which has 1 file *.parquet.gz (compressed files are not read)"),
        (["2026/"], "which has 1 folder (folders in it are not read)"),
        (["_a.parquet", ".b.parquet"], "which has 2 files whose name begins with . or _"),
        (["data"], "which has 1 file without an extension"),
        (["a.csv"], 'which has 1 file *.csv (format="csv"?)'),
        (["a.a", "b.b", "c.c", "d.d", "e.e", "f.f"], "1 file *.d, 2 other kinds"),
        (["a.parquet/"], "which has 1 folder"),
    ],
)
def test_what_is_there(tmp_path: Path, names: list[str], said: str) -> None:
    for name in names:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text("")
    assert said in (tw.files(tmp_path).nothing_to_read() or "")


def test_at_the_start_with_follow(tmp_path: Path) -> None:
    assert run(tw.files(tmp_path), follow=True) == (
        f"rows finds nothing: no file *.parquet in {tmp_path}, which is empty",
    )
    (tmp_path / "a.jsonl").write_text('{"i": 1}\n')
    assert run(tw.files(tmp_path, format="jsonl"), follow=True) == ()
    assert run(tw.iterable([]), follow=True) == (), "tuples may come"


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    assert run(tw.files(tmp_path, format="jsonl")) == (f"rows read nothing: {tmp_path} has 1 file *.jsonl, and no row",)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("i\n")
    header = "no row after the header, which is the first line"
    assert run(tw.files(tmp_path, format="csv")) == (f"rows read nothing: {tmp_path} has 2 files *.csv, and {header}",)
    assert run(tw.files(tmp_path / "a.csv", format="csv")) == (f"rows read nothing: {tmp_path}/a.csv has {header}",)


def nothing() -> Iterator[Row]:
    return iter(())


def test_other_sources() -> None:
    said = ("rows read nothing: its input has no tuples",)
    assert run(tw.iterable([])) == said
    assert run(tw.iterable(nothing)) == said
    assert run(tw.beacon(lambda n: Row(i=n), count=1)) == ()


def test_tw_run_says_it_only_if_nothing_was_ever_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    app = tw.App("empty")
    app.source(tw.files(tmp_path / "in", format="jsonl"), Row, name="rows").sink(tw.none(), name="out")
    with pytest.warns(ThalwegWarning, match=r"rows read nothing: no file \*.jsonl"):
        done = tw.run(app, engine="local")
    assert len(done.warnings) == 1
    (tmp_path / "in" / "a.jsonl").write_text('{"i": 1}\n')
    assert tw.run(app, engine="local").warnings == ()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_in_the_text_and_with_json(tmp_path: Path, engine: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("i\n1\n")
    (tmp_path / "app.py").write_text(
        "import thalweg as tw\n\nclass Row(tw.Tuple):\n    i: int\n\napp = tw.App('empty')\n"
        "rows = app.source(tw.files('in'), Row)\nrows.sink(tw.none())\n"
    )
    said = 'rows read nothing: no file *.parquet in in, which has 1 file *.csv (format="csv"?)'
    done = thalweg("run", "app.py", "--engine", engine, cwd=tmp_path)
    assert (done.returncode, f"warning: {said}" in " ".join(done.stderr.split())) == (0, True), done.stderr
    done = thalweg("run", "app.py", "--engine", engine, "--json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["message"] for e in events if e["event"] == "warning"] == [said]
