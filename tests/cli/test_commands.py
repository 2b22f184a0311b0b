"""explain in its forms, check on a broken engine, state, parameters, progress, and mistakes on the command line."""

from __future__ import annotations

import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import thalweg.cli.main as command
from tests.graphs import GRAPHS
from tests.small import Small, Stop, stop_after, thalweg
from thalweg.cli.show_run import epoch_line, progress
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.ir.layout import layout
from thalweg.mermaid import mermaid
from thalweg.optimize.passes import PASSES, Step, make_plan
from thalweg.runtime.pe import PE
from thalweg.runtime.turn import Turn

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(command.cli, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def fail(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """In this process, as `main` ends it: exit code, standard output, standard error."""
    monkeypatch.setattr("sys.argv", ["thalweg", *arguments])
    with pytest.raises(SystemExit) as end:
        command.main()
    said = capfd.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, said.out, said.err


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small.make(tmp_path_factory.mktemp("small"))


# explain


@pytest.mark.parametrize("name", GRAPHS)
def test_mermaid_has_every_operator_and_stream_once(name: str) -> None:
    plan = make_plan(GRAPHS[name](), degree=2)
    text = mermaid(plan)
    lines = text.splitlines()
    assert lines[0] == "flowchart LR"
    assert text.count("subgraph") == text.count("  end\n")
    assert text.count("subgraph") == len(layout(plan).stages) + sum(len(stage.pes) for stage in layout(plan).stages)
    nodes = re.findall(r"^ +(o\d+)[\[(]", text, re.MULTILINE)
    assert sorted(nodes) == sorted(f"o{i}" for i in range(len(plan.graph.operators)))
    edges = re.findall(r"^  (o\d+) (?:-->|==>)(?:\|\".*\"\|)? (o\d+)$", text, re.MULTILINE)
    assert len(edges) == sum(len(o.inputs) for o in plan.graph.operators)


def test_mermaid_escapes_names(small: Small) -> None:
    file = small.app(('name="files"', 'name="<b>\\"files\\""'))
    text = invoke("explain", str(file), "--mermaid")
    assert "#lt;b#gt;#quot;files#quot;" in text
    assert '"files"' not in text


def test_verbose_shows_what_each_pass_changed_or_unchanged(small: Small) -> None:
    app = str(small.app())
    text = invoke("explain", app, "--degree", "2", "--verbose")
    assert text.startswith(invoke("explain", app, "--degree", "2"))
    passes = re.sub(r"[\d.]+ ms", "TIME", text.partition("\npasses\n\n")[2])
    assert re.findall(r"^(\w+)(.*)$", passes, re.MULTILINE) == [
        *(("begin", ""), ("parallelize", ": TIME"), ("choose_degrees", ": TIME")),
        *(("balance", ": TIME, unchanged"), ("fuse", ": TIME")),
    ]
    assert "\nparallelize: TIME\n  degree of ticks 1 -> open\n" in passes
    assert "\n  degree of vwap open -> 2\n" in passes
    assert "\n  trades moves from PE 0.1 to PE 0.0\n" in passes
    text = invoke("explain", app, "--fuse", "none", "--verbose")
    assert re.search(r"\nfuse: [\d.]+ ms, unchanged\n", text)
    said = json.loads(invoke("explain", app, "--fuse", "none", "--verbose", "--json"))
    assert [(p["pass"], p["changed"]) for p in said["passes"]] == [
        *(("begin", True), ("parallelize", True), ("choose_degrees", True), ("balance", False), ("fuse", False))
    ]
    assert said["passes"][1]["diff"][0] == {"what": "degree", "operator": "ticks", "before": "1", "after": "open"}


def test_the_observer_sees_what_each_pass_made() -> None:
    steps: list[Step] = []
    plan = make_plan(GRAPHS["bargains"](), degree=2, observe=steps.append)
    assert [s.name for s in steps] == ["begin", *(one.name for one in PASSES)]
    assert steps[-1].after is plan
    assert all(later.before is earlier.after for earlier, later in pairwise(steps))


def test_diff(small: Small, tmp_path: Path) -> None:
    app, file = str(small.app()), tmp_path / "one.txt"
    file.write_text(invoke("explain", app))  # all that it printed
    assert invoke("explain", app, "--diff", str(file)) == f"changes from {file}\n  none\n"
    words = invoke("explain", app, "--degree", "2", "--fuse", "none", "--diff", str(file)).splitlines()
    assert words[0] == f"changes from {file}"
    for line in (
        *("buckets 1 -> 2", "degree of vwap 1 -> 2", "trades moves from PE 0.0 to PE 0.1", "stages 2 -> 3"),
        "new exchange before bargains.join: vwap by symbol over 2",
    ):
        assert f"  {line}" in words
    said = json.loads(invoke("explain", app, "--degree", "2", "--diff", str(file), "--json"))
    assert {"what": "degree", "operator": "vwap", "before": "1", "after": "2"} in said["diff"]


def test_verbose_with_a_plan_file(small: Small, tmp_path: Path) -> None:
    app = str(small.app())
    text = invoke("explain", app)
    (tmp_path / "a.plan").write_text(
        text.partition("\nplan ")[1].strip() + text.partition("\nplan ")[2].partition("\n\n")[0]
    )
    (tmp_path / "a.plan").write_text("plan " + text.partition("\nplan ")[2].partition("\n\n")[0])
    assert "no pass ran" in invoke("explain", app, "--plan", str(tmp_path / "a.plan"), "--verbose")


# check


def test_check_names_the_operator(
    small: Small, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    right = PE.filter

    def loses_one(self: PE, turn: Turn, name: str, *arguments: Any) -> Any:
        frame = right(self, turn, name, *arguments)
        return frame if frame is None or name != "quotes" or len(frame) < 2 else frame.window(1, len(frame))

    monkeypatch.setattr(PE, "filter", loses_one)
    app = str(small.app())
    code, _, said = fail(monkeypatch, capfd, "check", app, "--tuples", "200", "--plans", "6")
    assert code == 1
    assert "different answers" in said
    assert f"first differs after quotes (filter, {app}:" in said
    assert "tuple 0 of its stream, counted from 0:" in said
    code, out, _ = fail(monkeypatch, capfd, "check", app, "--tuples", "200", "--plans", "6", "--json")
    assert code == 1
    assert json.loads(out)["divergence"]["operator"] == "quotes"


# state


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Small:
    small = Small.make(tmp_path_factory.mktemp("stopped"))
    with pytest.raises(Stop):
        small.run(watch=stop_after(3))
    return small


def test_state(stopped: Small) -> None:
    text = invoke("state", str(stopped.checkpoint))
    assert "application small, engine local, 2 channels, 2 buckets" in text
    assert "4 epochs done of 4 in the input log: 160 tuples of 3 files; can be resumed" in text
    assert re.search(r"\nvwap: 8 keys, [\d,]+ bytes in 2 buckets\n  aggregate v1 sliding\(count 5\) by symbol", text)
    assert re.search(r"\n  symbol='S\d+': count=\d+, fold1=\[", text)
    assert "… 3 more: use --limit, or --key to show a single key" in text
    assert "bargains.join: 8 keys" in text


def test_state_of_one_key_as_json(stopped: Small) -> None:
    said = json.loads(
        invoke("state", str(stopped.checkpoint), "--operator", "vwap", "--key", "S001", "--json", "--limit", "9")
    )
    assert (said["epochs"], said["ended"]) == ({"done": 4, "logged": 4}, False)
    (operator,) = said["operators"]
    assert operator["key"] == {"symbol": "str"}
    assert sum(b["keys"] for b in operator["buckets"]) == operator["keys"] == 8
    (entry,) = operator["entries"]
    assert entry["key"] == ["S001"]
    assert set(entry["values"]) == {"count", "fold1", "fold2"}


STATE_MISTAKES = {
    "no checkpoint": (("nowhere",), "is not a Thalweg checkpoint"),
    "operator": (("HERE", "--operator", "vwp"), "did you mean `vwap`?"),
    "key": (("HERE", "--key", "nobody"), "no state has the key nobody"),
}


@pytest.mark.parametrize("mistake", STATE_MISTAKES)
def test_state_mistakes(
    stopped: Small, mistake: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments, paragraph = STATE_MISTAKES[mistake]
    filled = [str(stopped.checkpoint) if a == "HERE" else a for a in arguments]
    code, _, said = fail(monkeypatch, capfd, "state", *filled)
    assert code == 1
    assert paragraph in said


# parameters


PARAM = (
    "HERE = Path(__file__).parent",
    'HERE = Path(__file__).parent\nfactor = tw.param("factor", type=float, help="how eager")',
)
USE = ("q.vwap > q.price", "q.vwap * factor > q.price")


def test_param_reaches_run_explain_and_check(small: Small) -> None:
    app = str(small.app(PARAM, USE))
    assert "\nparameters\n  factor = 0.5\n" in invoke("explain", app, "--param", "factor=0.5")
    assert "same answer" in invoke("check", app, "--param", "factor=0.5", "--tuples", "100", "--plans", "6")
    done = thalweg("explain", app, "--json", "--param", "factor=2")
    assert json.loads(done.stdout)["params"] == {"factor": "2.0"}


def test_a_missing_param_is_one_paragraph(
    small: Small, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, said = fail(monkeypatch, capfd, "explain", str(small.app(PARAM, USE)))
    assert code == 1
    assert "graph error: this parameter has no value: factor" in said
    assert "factor (float): how eager" in said


def test_a_changed_param_is_a_warning(tmp_path: Path) -> None:
    small = Small.make(tmp_path / "small")
    app = small.app(PARAM, USE)
    with_engine = ("--engine", "local", "--json", "--param")
    first = thalweg(*small.command(*with_engine, "factor=1", app=app)[3:])
    assert first.returncode == 0, first.stderr
    (small.checkpoint / "ended").unlink()
    again = thalweg(*small.command(*with_engine, "factor=2", app=app)[3:])
    events = [json.loads(line) for line in again.stdout.splitlines()]
    param, operator = [e["message"] for e in events if e["event"] == "warning"]
    assert param == "parameter factor was 1.0 at the first start and is 2.0 from this start on"
    assert operator.startswith("the filter bargains is not as it was at the last start: ")


# progress

PLAN = make_plan(GRAPHS["bargains"](), degree=2)
REPORT = EpochReport(3, False, 20_000, {"found": 500, "late": 0}, 0.25, 7_000)


def test_a_line_per_epoch_where_there_is_no_terminal() -> None:
    out = Console(file=io.StringIO(), width=200)
    with progress(out, out, PLAN, as_json=False, view=None) as view:
        view.watch(REPORT)
        view.watch(EpochReport(4, True, 0, {"found": 0, "late": 0}, 0.01, 0))
        view.watch(EpochReport(5, True, 0, {"found": 2, "late": 0}, 0.01, 0))
        view.stopping(6)
    assert out.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "epoch     3      20,000 in      250 ms       80,000 tuples/s; 500 at found, 0 at late; 7,000 waiting",
        "epoch     4  end of input",
        "epoch     5  end of input; 2 at found, 0 at late",
        "stopping after epoch 6; interrupt again to stop immediately",
    ]
    assert epoch_line(REPORT).startswith("epoch     3")


def test_a_live_line_on_a_terminal() -> None:
    out = Console(file=io.StringIO(), width=200, force_terminal=True)
    with progress(out, out, PLAN, as_json=False, view="line") as view:
        assert out.file.getvalue() == "", "Spark's start has the terminal for itself"  # type: ignore[attr-defined]
        view.watch(REPORT)
        view.watch(EpochReport(4, False, 10_000, {"found": 250, "late": 0}, 0.5, None))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "epoch 3  250 ms  80,000 tuples/s in, 2,000/s to found, 0/s to late  7,000 waiting  (20,000 tuples" in shown
    assert "epoch 4  500 ms  20,000 tuples/s in, 500/s to found, 0/s to late  (30,000 tuples in" in shown
    with progress(out, out, PLAN, as_json=False, view="line"):
        pass  # a run that fails before its first epoch


# the command line itself

USAGE = {
    "command": (("exlpain", "app.py"), "usage error: No such command 'exlpain'", "did you mean `explain`?"),
    "option": (
        ("run", "app.py", "--egine", "local"),
        "usage error: No such option: --egine",
        "did you mean `--engine`?",
    ),
    "no argument": (("explain",), "usage error: Missing argument 'APP'", "thalweg explain --help"),
    "bad value": (
        ("check", "app.py", "--plans", "2"),
        "usage error: Invalid value for '--plans'",
        "thalweg check --help",
    ),
    "param": (("run", "app.py", "--param", "hunter2"), "usage error: --param: no value", "NAME=VALUE"),
    "forms": (("explain", "app.py", "--mermaid", "--json"), "usage error", "--mermaid without --json"),
}


@pytest.mark.parametrize("mistake", USAGE)
def test_a_usage_mistake_is_one_paragraph_with_a_hint(
    mistake: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments, message, hint = USAGE[mistake]
    code, out, said = fail(monkeypatch, capfd, *arguments)
    assert code == 2
    assert message in said + out
    assert hint in said + out
    assert "hunter2" not in said + out


def test_a_usage_mistake_as_json(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, said = fail(monkeypatch, capfd, "run", "app.py", "--egine", "local", "--json")
    assert (code, said) == (2, "")
    assert json.loads(out)["hint"] == "did you mean `--engine`?"


def test_without_a_command_the_help_is_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, said = fail(monkeypatch, capfd)
    assert code == 2
    assert "Exit codes: 0 success" in out
    assert said == ""


def test_every_command_has_examples_and_is_documented() -> None:
    guide = (DOCS / "commands.md").read_text()
    names = [c.name or c.callback.__name__ for c in command.cli.registered_commands if c.callback]
    assert names == ["run", "explain", "check", "state", "migrate", "doctor"]
    for name in names:
        text = invoke(name, "--help")
        assert "Examples:" in text
        assert f"\n## thalweg {name}" in guide
        for option in set(re.findall(r"--[a-z-]+", text)) - {"--help"}:
            assert option in guide, (name, option)


# migrate

_NO_JOIN = (
    (
        'quotes.join(vwap, window.last(1, by="symbol"), on="symbol").filter(lambda q: q.vwap > q.price)',
        "quotes.filter(lambda q: q.price > 0)\nvwap.sink(tw.none())",
    ),
    ("q.vwap - q.price", "q.price"),
)
WITHOUT_KEYS = {
    "nothing is keyed": (*_NO_JOIN, ('count=5, by="symbol"', "count=5")),
    "nothing has state": (
        *_NO_JOIN,
        (
            """trades.aggregate(
    window.sliding(count=5, by="symbol"),
    symbol=agg.any("symbol"),
    vwap=agg.sum(lambda t: t.price * t.volume) / agg.sum("volume"),
)""",
            "trades.map(lambda t: {'symbol': t.symbol})",
        ),
    ),
}


@pytest.mark.parametrize("keys", WITHOUT_KEYS)
def test_migrate_to_a_degree_without_keyed_state(tmp_path: Path, keys: str) -> None:
    small, changes = Small.make(tmp_path / "small"), WITHOUT_KEYS[keys]
    with pytest.raises(Stop):
        small.run("local", *changes, watch=stop_after(1))
    moved = tmp_path / "moved"
    invoke("migrate", str(small.checkpoint), str(moved), "--degree", "3")
    app = str(small.app(*changes))
    invoke("run", app, "--engine", "local", "--degree", "3", "--checkpoint", str(moved), "--max-tuples-per-epoch", "40")
    once = Small.make(tmp_path / "once")
    once.run("local", *changes)
    assert {p.name: p.read_bytes() for p in (small.folder / "out").glob("*.parquet")} == {
        p.name: p.read_bytes() for p in (once.folder / "out").glob("*.parquet")
    }
