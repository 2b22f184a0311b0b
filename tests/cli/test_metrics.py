"""The metrics of a run: events, JSON lines, Prometheus."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import thalweg as tw
import thalweg.cli.main as command
from tests.cli.test_live import REPORT
from tests.small import PER_EPOCH, THALWEG, Small, thalweg
from tests.waiting import PATIENCE_S
from thalweg import agg, window
from thalweg.cli.metrics import parse_address
from thalweg.cli.prometheus import Exporter
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.report import EpochReport
from thalweg.errors import UsageError
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan
from thalweg.verify.reference import Reference

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


def events(*arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(command.cli, arguments)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_events_and_metrics_have_the_references_counts(small: Small, tmp_path: Path) -> None:
    file = tmp_path / "folder" / "metrics.jsonl"
    said = events(*small.command("--engine", "local", "--json", "--metrics", str(file))[3:])
    epochs = [{k: v for k, v in e.items() if k != "event"} for e in said if e["event"] == "epoch"]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all((line.pop("app"), line.pop("time")[-6:]) == ("small", "+00:00") for line in lines)
    assert lines == epochs
    assert len(epochs) == 7
    graph = small.graph()
    reference = Reference(graph)
    reference.run(small.log())
    for operator in graph.operators:
        for port in range(len(operator.outputs)):
            found = sum(e["operators"][operator.name]["tuples_out"][port] for e in epochs)
            assert found == reference.counts.sent[operator.name, port]
    first = epochs[0]
    assert first["tuples_in"] == first["operators"]["ticks"]["tuples_out"][0] == PER_EPOCH
    assert first["operators"]["files"]["tuples_in"] == [first["tuples_out"]["files"]]
    assert set(first["parts"]) == {"cut", "run", "sinks", "commit", "other"}
    assert sum(first["parts"].values()) == pytest.approx(first["seconds"], abs=1e-4)
    assert set(first["pes"]) == {"0.0", "1.0"}
    assert set(first["sinks"]) == {"files", "kept"}
    assert first["state_bytes"] > 0
    assert [e["backlog"] for e in epochs] == [200, 160, 120, 80, 40, 0, 0]


class Row(tw.Tuple):
    at: int
    n: int


def troubled(on_error: str) -> LogicalGraph:
    """One division by zero, and one tuple that comes too late."""
    app = tw.App("troubled")
    rows = [Row(at=a, n=n) for a, n in [(1, 1), (5, 0), (30, 2), (2, 3), (31, 4)]]
    source = app.source(tw.iterable(rows), Row, name="rows")
    shares = source.map(lambda t: {"at": t.at, "share": 60 // t.n}, on_error=on_error, name="shares")
    if on_error == "dead_letter":
        shares.dead_letters.sink(tw.none(), name="letters")
    timed = shares.event_time("at", lateness=0, name="timed")
    sums = timed.aggregate(window.tumbling(time=10), total=agg.sum("share"), name="sums")
    sums.sink(tw.collect(), name="out")
    return app.graph()


@pytest.mark.parametrize("on_error", ["skip", "dead_letter"])
def test_skipped_late_and_dead(on_error: str) -> None:
    reports: list[EpochReport] = []
    run_local(make_plan(troubled(on_error)), RunOptions(), reports.append)
    total = {name: sum(getattr(r, name) for r in reports) for name in ("skipped", "dead_letters", "late")}
    assert total == {"skipped": on_error == "skip", "dead_letters": on_error == "dead_letter", "late": 1}
    assert reports[0].operators["timed"].tuples_out == (4, None), "marks are not tuples"
    assert reports[0].operators["sums"].tuples_in == (4, None)


def test_old_reports_can_be_read() -> None:
    old = {"epoch": 3, "final": False, "tuples_in": 5, "tuples_out": {"a": 1}, "seconds": 0.5, "backlog": None}
    assert EpochReport.from_document(old) == EpochReport(3, False, 5, {"a": 1}, 0.5, None)
    assert EpochReport.from_document(json.loads(json.dumps(REPORT.to_document()))) == REPORT


def samples(exporter: Exporter) -> dict[tuple[str, tuple[str, ...]], float]:
    """Name and values of the labels in order, without the application's, as Prometheus would read them."""
    text = generate_latest(exporter.registry).decode()
    return {
        (s.name, tuple(v for k, v in sorted(s.labels.items()) if k != "app")): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
        if not s.name.endswith("_created")
    }


def test_prometheus() -> None:
    exporter = Exporter('an "app"')
    exporter.watch(REPORT)
    exporter.watch(REPORT)
    found = samples(exporter)
    assert found["thalweg_epochs_total", ()] == 2
    assert found["thalweg_tuples_total", ("in", "bargains.join", "1")] == 800
    assert found["thalweg_tuples_total", ("out", "ticks", "0")] == 2000
    assert found["thalweg_skipped_tuples_total", ("trades",)] == 6
    assert found["thalweg_epoch_seconds_bucket", ("0.2",)] == 0
    assert found["thalweg_epoch_seconds_bucket", ("0.5",)] == 2
    assert found["thalweg_epoch_part_seconds", ("run",)] == 0.4
    assert found["thalweg_pe_cpu_seconds_total", ("1.0",)] == 1.2
    assert found["thalweg_backlog_tuples", ()] == 7000
    assert found["thalweg_last_epoch", ()] == 12
    assert found["thalweg_state_bytes", ()] == 84_900


def test_prometheus_scrapes_a_run(small: Small) -> None:
    options = ("--engine", "local", "--prometheus", "0", "--json", "--follow", "--checkpoint", str(small.checkpoint))
    with subprocess.Popen([*THALWEG, "run", str(small.app()), *options], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url = next(e["url"] for e in map(json.loads, run.stdout) if e["event"] == "prometheus")
        next(e for e in map(json.loads, run.stdout) if e["event"] == "epoch")
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
        run.terminate()
        run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 143
    families = {f.name: f for f in text_string_to_metric_families(text)}
    tuples = [s for s in families["thalweg_tuples"].samples if s.name == "thalweg_tuples_total"]
    assert [s.value >= PER_EPOCH for s in tuples if s.labels["operator"] == "ticks"] == [True]
    assert {s.labels["app"] for s in families["thalweg_epochs"].samples} == {"small"}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9100", ("127.0.0.1", 9100)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:9100", ("::1", 9100)),
        (":7", ("127.0.0.1", 7)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "here", "host:", "host:http", "70000"])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="--prometheus: invalid address"):
        parse_address(text)


def test_mistakes_are_one_paragraph(small: Small, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = {
            ("--prometheus", str(port)): f"engine error: cannot listen on 127.0.0.1:{port} for Prometheus",
            ("--metrics", str(tmp_path)): "engine error: the metrics file cannot be written",
            ("--engine", "spark", "--master", "locl[2]"): "usage error: --master: this is not a Spark master",
            ("--engine", "spark", "--conf", "sql.x=1"): "usage error: --conf: Spark would ignore sql.x",
            ("--fuse", "ticks trads"): "plan error: unknown fusion",
        }
        for options, paragraph in cases.items():
            done = thalweg("run", str(small.app()), "--engine", "local", *options)
            assert done.returncode == (2 if "usage" in paragraph else 1), done.stderr
            assert done.stderr.startswith(paragraph), done.stderr
            assert "Traceback" not in done.stderr


def test_groups_from_a_file(small: Small, tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("ticks trades\nvwap bargains.join  # state\n")
    done = CliRunner().invoke(command.cli, ["explain", str(small.app()), "--fuse", str(tmp_path / "groups")])
    assert re.search(r"\nticks +group=0\ntrades +group=0\nquotes\n", done.stdout)
