"""Sinks on the local engine: files in every format, the console, none. TCP is in test_tcp.py."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.small import Stop, stop_after, thalweg
from thalweg.engine.run import RunOptions, RunResult, run_local
from thalweg.engine.sinks import MAKERS
from thalweg.ir.endpoints import Feed, SinkEndpoint
from thalweg.lang.endpoints import FORMATS, SINKS
from thalweg.optimize.passes import make_plan


class Item(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


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


def test_every_sink_of_the_language_has_a_writer() -> None:
    assert set(MAKERS) == {*SINKS, Feed}  # a loop's end is no endpoint that users name


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_file_sink_writes_a_file_source_reads(tmp_path: Path, format: str) -> None:
    assert run(app_of(tw.files(tmp_path / "out", format=format))).tuples_out == {"out": 50}
    app = tw.App("again")
    app.source(tw.files(tmp_path / "out", format=format), Item).sink(tw.collect())
    assert run(app).tuples() == [tuple(item(i).values()) for i in range(50)]


def test_an_arrow_file_per_epoch(tmp_path: Path) -> None:
    run(app_of(tw.files(tmp_path, format="arrow")))
    files = sorted(tmp_path.glob("*.arrow"))
    assert [f.name for f in files] == [f"epoch-{n:010d}.arrow" for n in range(3)]
    assert pa.ipc.open_file(files[2]).read_all().to_pylist() == [item(i) for i in range(40, 50)]


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
    assert "[é]21" in text, "brackets are no markup"
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
