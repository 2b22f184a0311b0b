"""Sinks on the local engine: files in every format, the console, none. TCP is in test_tcp.py."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console as Terminal

import thalweg as tw
from tests.properties.strategies import cut_all
from tests.small import THALWEG, Stop, stop_after, thalweg
from thalweg import agg, window
from thalweg.endpoints.files import FORMATS
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.local.run import run_local
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.sinks.live_table import LiveRows, Tables
from thalweg.engine.sinks.writers import make_sinks
from thalweg.errors import EngineError, OutputError, ThalwegWarning
from thalweg.ir.endpoints import SinkEndpoint
from thalweg.ir.types import INT, TupleType
from thalweg.optimize.passes import make_plan


class Item(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


class Keyed(tw.Tuple):
    k: int
    x: int


def item(index: int) -> dict[str, Any]:
    return {"i": index, "x": index / 7, "s": f"[é]{index}", "b": index % 2 == 0}


def app_of(endpoint: SinkEndpoint, count: int = 50) -> tw.App:
    app = tw.App("items")
    app.source(tw.beacon(item, count=count), Item, name="items").sink(endpoint, name="out")
    return app


def run(app: tw.App, checkpoint: Path | None = None, **options: Any) -> RunResult:
    watch = options.pop("watch", lambda report: None)
    settings = RunOptions(checkpoint, max_tuples_per_epoch=20, **options)
    return run_local(make_plan(app.graph()), settings, watch)


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_file_sink_writes_a_file_source_reads(tmp_path: Path, format: str) -> None:
    assert run(app_of(tw.files(tmp_path / "out", format=format))).tuples_out == {"out": 50}
    app = tw.App("again")
    app.source(tw.files(tmp_path / "out", format=format), Item).sink(tw.collect())
    assert run(app).tuples() == [tuple(item(i).values()) for i in range(50)]


def test_files_of_an_unordered_stream_are_in_order(tmp_path: Path) -> None:
    """An epoch that is run again must leave the same file, whichever channel is faster then."""
    app = tw.App("unordered")
    source = app.source(tw.beacon(lambda i: {"k": i % 7, "x": i}, count=50), Keyed).unordered()
    source.aggregate(window.running(by="k"), x=agg.last("x")).sink(tw.files(tmp_path, format="jsonl"), name="out")
    run_local(make_plan(app.graph(), degree=3), RunOptions(in_process=True), lambda report: None)
    written = (tmp_path / "epoch-0000000000.jsonl").read_text()
    assert [json.loads(line)["x"] for line in written.splitlines()] == list(range(50))


def test_an_arrow_file_per_epoch(tmp_path: Path) -> None:
    run(app_of(tw.files(tmp_path, format="arrow")))
    files = sorted(tmp_path.glob("*.arrow"))
    assert [f.name for f in files] == [f"epoch-{n:010d}.arrow" for n in range(3)]
    assert pa.ipc.open_file(files[2]).read_all().to_pylist() == [item(i) for i in range(40, 50)]


@pytest.mark.parametrize(("failures", "retry_s"), [(2, 60.0), (1000, 0.01)])
def test_a_topic_is_tried_again(tmp_path: Path, failures: int, retry_s: float) -> None:
    """The connector gives up after its own timeouts; the next attempt sends the same records."""
    (tmp_path / "manifest.json").write_text('{"run": "r"}')
    sent: list[pa.Table] = []

    def write_rows(table: pa.Table, format: str, options: Mapping[str, str]) -> None:
        sent.append(table)
        if len(sent) <= failures:
            raise EngineError("Spark could not write kafka", found="no leader")

    endpoint = tw.kafka("localhost:1", "topic", retry_s=retry_s)
    graph = app_of(endpoint).graph()
    frame = LocalEngine(make_plan(graph)).run_epoch(cut_all(graph, 50)[0])["out"]
    sink = make_sinks(graph, tmp_path / "results", write_rows)["out"]
    if failures > 2:
        with pytest.raises(OutputError, match="epoch 0 cannot be delivered to the topic topic") as stopped:
            sink.write(0, frame, final=False)
        assert stopped.value.found == "no leader"
        return
    with pytest.warns(ThalwegWarning, match="out waits for the topic topic at localhost:1: no leader; trying again"):
        assert sink.write(0, frame, final=False) == 50
    assert len(sent) == 3
    assert all(table.equals(sent[0]) for table in sent)


def test_none_counts() -> None:
    result = run(app_of(tw.none()))
    assert (result.tuples_out, dict(result.collected)) == ({"out": 50}, {})


def test_the_console_shows_the_first_tuples_of_each_epoch() -> None:
    said = io.StringIO()
    run(app_of(tw.console(rows=2)), console=said)
    text = said.getvalue()
    assert [line for line in text.splitlines() if "epoch" in line or "more" in line] == [
        "out, epoch 0: 20 tuples",
        "… and 18 more",
        "out, epoch 1: 20 tuples",
        "… and 18 more",
        "out, epoch 2: 10 tuples",
        "… and 8 more",
    ]
    assert "[é]21" in text, "brackets are not markup"
    assert repr(21 / 7) in text
    assert "[é]22" not in text


def test_the_console_shows_everything() -> None:
    said = io.StringIO()
    run(app_of(tw.console(rows=None), count=20), console=said)
    assert all(f"[é]{i} " in said.getvalue() for i in range(20))
    assert "more" not in said.getvalue()


def test_the_console_repeats_nothing_at_a_restart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = app_of(tw.console())
    with pytest.raises(Stop):
        run(app, tmp_path, watch=stop_after(0))
    left = tmp_path / "results" / "out" / "epoch-0000000000.json"
    left.write_text(json.dumps({"tuples": 1, "rows": [["0", "0", "left by a killed run", "True"]]}))
    run(app, tmp_path)
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if "epoch" in line] == [
        f"out, epoch {epoch}: {tuples} tuples" for epoch, tuples in ((0, 20), (1, 20), (2, 10))
    ]
    assert "left" not in said
    assert not list((tmp_path / "results" / "out").iterdir())


@pytest.mark.slow
def test_standard_output_is_for_documents_with_json(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import thalweg as tw\n\nclass T(tw.Tuple):\n    i: int\n\napp = tw.App('shown')\n"
        "app.source(tw.beacon(lambda i: {'i': i}, count=3), T).sink(tw.console(), name='out')\n"
    )
    done = thalweg("run", "app.py", "--engine", "local", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["plan", "epoch", "epoch", "end"]
    assert "out, epoch 0: 3 tuples" in done.stderr
    done = thalweg("run", "app.py", "--engine", "local", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "out, epoch 0: 3 tuples" in done.stdout


# The live table


def test_a_live_table_of_the_last_tuples() -> None:
    tables = Tables()
    run(app_of(tw.console(rows=3, live=True)), console=io.StringIO(), display=tables)
    text = printed(tables)
    assert "out, epoch 2: 50 tuples, the last 3" in text
    assert [f"[é]{i}" in text for i in (46, 47, 48, 49)] == [False, True, True, True]


def test_a_live_table_by_key() -> None:
    """The last tuple of each key of all epochs, in the order of the keys: 9 comes before 10."""
    app = tw.App("keyed")
    source = app.source(tw.beacon(lambda i: {"k": 10 - i % 3, "x": i}, count=50), Keyed, name="items")
    source.sink(tw.console(rows=2, live=True, key="k"), name="out")
    tables = Tables()
    run(app, console=io.StringIO(), display=tables)
    text = printed(tables)
    assert "out, epoch 2: 50 tuples, 3 keys" in text
    assert [line.split("│")[1:3] for line in text.splitlines() if line.startswith("│")] == [
        [" 8 ", " 47 "],
        [" 9 ", " 49 "],
    ]
    assert "… and 1 more" in text


def test_a_live_table_keeps_so_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones, which are those that it shows: also where they come last."""
    monkeypatch.setattr("thalweg.engine.sinks.live_table.KEPT_KEYS", 4)
    rows = LiveRows("out", TupleType("Keyed", (("k", INT), ("x", INT))), ("k",), limit=3)
    for first in (10, 0):
        rows.add(10, [(str(key), str(-key)) for key in range(first, first + 10)])
        assert rows.by_key.keys() == {(str(key),) for key in range(first, first + 4)}
    rows.add(1, [("2", "new")])
    tables = Tables()
    tables.show("out", rows.renderable(2))
    text = printed(tables)
    assert "out, epoch 2: 21 tuples, over 4 keys" in text
    assert [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")] == ["0", "1", "2"]
    assert "new" in text
    assert "… and over 1 more" in text


def test_a_live_table_prints_where_there_is_no_terminal() -> None:
    said = io.StringIO()
    run(app_of(tw.console(rows=2, live=True)), console=said)
    assert said.getvalue().count("… and 18 more") == 2


@pytest.mark.slow
def test_the_live_table_of_the_command(tmp_path: Path) -> None:
    """On a real terminal: the table is drawn again and again, and its last form stays."""
    (tmp_path / "app.py").write_text(
        "import thalweg as tw\n\nclass T(tw.Tuple):\n    i: int\n    k: str\n\napp = tw.App('shown')\n"
        "items = app.source(tw.beacon(lambda i: {'i': i, 'k': 'ab'[i % 2]}, count=9), T)\n"
        "items.sink(tw.console(live=True, key='k'), name='out')\n"
    )
    command = [*THALWEG, "run", "app.py", "--engine", "local", "--max-tuples-per-epoch", "4"]
    assert "out, epoch 2: 9 tuples, 2 keys" in (said := on_a_terminal(command, tmp_path))
    assert "│ 8 │ a │" in said
    assert said.rindex("│ 8 │ a │") < said.rindex("│ 7 │ b │")
    script = "import app, thalweg as tw; tw.run(app.app, engine='local', max_tuples_per_epoch=4)"
    assert "out, epoch 2: 9 tuples, 2 keys" in on_a_terminal([sys.executable, "-c", script], tmp_path)


def on_a_terminal(command: list[str], folder: Path) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40", "PYTHONIOENCODING": "utf8"}
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # raised by Linux when no process has the other end open
        while data := os.read(ours, 65536):
            said += data
    os.close(ours)
    assert process.wait() == 0, said.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())


def printed(tables: Tables) -> str:
    out = io.StringIO()
    for table in tables.shown.values():
        Terminal(file=out, width=100).print(table)
    return out.getvalue()
