"""The command as a user sees it. No JVM: what starts Spark is in tests/spark."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from check_bargains import expected_bargains
from make_ticks import make_ticks
from typer.testing import CliRunner

import thalweg.cli.main as command
from tests.small import thalweg
from thalweg.cli.find_app import load_app
from thalweg.ir.plan_json import plan_as_json
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
TICKS, PER_EPOCH = 3_000, 1_000


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the bargains example with few ticks."""
    folder = tmp_path_factory.mktemp("example")
    for name in ("bargains.py", "make_ticks.py"):
        shutil.copy(EXAMPLES / name, folder)
    make_ticks(folder / "data" / "ticks", TICKS, files=2, symbols=20)
    return folder


def invoke(*arguments: str) -> str:
    """In this process, for commands that succeed."""
    done = CliRunner().invoke(command.cli, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_run_shows_progress_and_result(example: Path) -> None:
    done = thalweg("run", "bargains.py", "--engine", "local", "--max-tuples-per-epoch", str(PER_EPOCH), cwd=example)
    assert (done.returncode, done.stderr) == (0, "")
    found = len(list(expected_bargains(example / "data" / "ticks")))
    assert "3,000 tuples in 4 epochs" in done.stdout
    assert f"out: {found:,} at found" in done.stdout
    assert "epoch     3  end of input" in done.stdout


def test_run_as_json(example: Path) -> None:
    arguments = ("--engine", "local", "--max-tuples-per-epoch", str(PER_EPOCH), "--degree", "2", "--json")
    done = thalweg("run", "bargains.py", *arguments, cwd=example)
    assert (done.returncode, done.stderr) == (0, "")
    plan, *epochs, end = map(json.loads, done.stdout.splitlines())
    assert (plan["event"], plan["engine"]) == ("plan", "local")
    assert [(e["event"], e["epoch"], e["tuples_in"], e["final"]) for e in epochs] == [
        ("epoch", 0, PER_EPOCH, False),
        ("epoch", 1, PER_EPOCH, False),
        ("epoch", 2, PER_EPOCH, False),
        ("epoch", 3, 0, True),
    ]
    assert (end["event"], end["epochs"], end["tuples_in"]) == ("end", 4, TICKS)
    assert end["tuples_out"] == {"found": sum(e["tuples_out"]["found"] for e in epochs)}


def test_run_takes_a_plan_file(example: Path, tmp_path: Path) -> None:
    app = str(example / "bargains.py")
    plan = make_plan(load_app(app).graph(), degree=3, fuse="none")
    (tmp_path / "bargains.plan").write_text(print_plan(plan))
    said = invoke("run", app, "--engine", "local", "--plan", str(tmp_path / "bargains.plan"), "--json")
    events = [json.loads(line) for line in said.splitlines()]
    assert events[0]["plan"] == plan_as_json(plan)
    assert events[-1]["tuples_out"]["found"] == len(list(expected_bargains(example / "data" / "ticks")))


def test_explain(example: Path) -> None:
    app = str(example / "bargains.py")
    text = invoke("explain", app, "--degree", "2")
    assert "cut-invariant: yes, because it has one totally ordered source" in text
    for name in ("ticks", "trades", "quotes", "vwap", "bargains.join", "found"):
        assert name in text
    assert "by symbol over 2" in text
    assert invoke("explain", app, "--degree", "2") == text, "explain is deterministic"
    json.loads(invoke("explain", app, "--degree", "2", "--json"))


def test_check(example: Path) -> None:
    app = str(example / "bargains.py")
    text = invoke("check", app, "--tuples", "1000", "--plans", "8")
    assert "same answer under 8 plans and 3 ways to cut epochs" in text
    said = json.loads(invoke("check", app, "--tuples", "1000", "--plans", "6", "--json"))
    assert (said["plans"], said["tuples"], said["difference"]) == (6, 1000, None)


def test_rules_and_plans(example: Path) -> None:
    """`run` shows the regions of the rules that it follows; a plan is taken as `explain` prints it."""
    app = str(example / "bargains.py")
    assert "parallel regions, by the rules of the paper" in invoke(
        "run", app, "--engine", "local", "--rules", "paper", "--verbose"
    )
    (example / "open.plan").write_text(invoke("explain", app, "--degree", "open"))
    shutil.rmtree(example / "out", ignore_errors=True)
    ran = invoke("run", app, "--engine", "local", "--plan", str(example / "open.plan"), "--degree", "2", "--verbose")
    assert re.search(r"\nvwap +degree=2 ", ran)
    assert "degree=open" not in ran


def test_doctor() -> None:
    findings = json.loads(invoke("doctor", "--json"))
    assert {"Python", "Java", "pyspark"} <= {finding["what"] for finding in findings}
    assert "ok  Python" in invoke("doctor")


def test_help_names_every_command() -> None:
    text = invoke("--help")
    for name in ("run", "explain", "check", "doctor"):
        assert name in text


MISTAKES = {
    "no file": (("run", "nowhere.py"), "graph error: no such file: nowhere.py"),
    "no module": (("run", "nowhere:app"), "graph error: no such module: nowhere"),
    "a folder": (("run", "."), "graph error: no such module: ."),
    "no app": (("explain", "empty.py"), "graph error: empty.py has 0 applications"),
    "another app": (("explain", "bargains.py:ap"), "did you mean `app`?"),
    "engine": (("run", "bargains.py", "--engine", "sparc"), "plan error: unknown engine"),
    "fusion": (("explain", "bargains.py", "--fuse", "al"), "plan error: unknown fusion"),
    "no plan": (("explain", "bargains.py", "--plan", "nowhere.plan"), "'nowhere.plan' does not exist"),
    "no folder": (("run", "adrift.py", "--engine", "local"), "input error: the source's folder does not exist"),
    "no consumer": (("explain", "open.py"), "graph error: the stream ticks has no consumer"),
    "conf": (("run", "bargains.py", "--engine", "local", "--conf", "spark.x"), "KEY=VALUE"),
    "syntax": (("explain", "syntax.py"), "syntax.py:2)\n  found: SyntaxError: invalid syntax\n"),
    "import": (("explain", "lacking.py"), "lacking.py:1)\n  found: ModuleNotFoundError: No module named 'nopackage'\n"),
    "method": (
        ("explain", "misspelt.py"),
        "misspelt.py:7)\n  found: AttributeError: 'Stream' object",
    ),
    "its hint": (("explain", "misspelt.py"), "hint: did you mean `map`?"),
    "argument": (
        ("explain", "wrongly.py"),
        "App: missing a required argument: 'name'  (wrongly.py:2)\n  expected: App(",
    ),
    "checkpoint": (
        ("run", "bargains.py", "--engine", "local", "--checkpoint", "empty.py"),
        "checkpoint error: a checkpoint is a folder",
    ),
    "buckets": (
        ("explain", "bargains.py", "--degree", "4", "--buckets", "2"),
        "plan error: fewer buckets than channels",
    ),
    "plan and rules": (
        ("explain", "bargains.py", "--plan", "empty.py", "--rules", "paper"),
        "usage error: a plan already decides rules",
    ),
}
FILES = {
    "empty.py": "",
    "syntax.py": "import thalweg as tw\ndef (:\n",
    "lacking.py": "import nopackage\n",
    "wrongly.py": "import thalweg as tw\napp = tw.App()\n",
    "misspelt.py": "import thalweg as tw\n\nclass T(tw.Tuple):\n    x: int\n\napp = tw.App('misspelt')\n"
    "app.source(tw.files('nowhere'), T).mapp(lambda t: {'x': t.x})\n",
    "adrift.py": "import thalweg as tw\n\nclass T(tw.Tuple):\n    x: int\n\napp = tw.App('adrift')\n"
    "app.source(tw.files('nowhere'), T).sink(tw.collect())\n",
    "open.py": "import thalweg as tw\n\nclass T(tw.Tuple):\n    x: int\n\napp = tw.App('open')\n"
    "ticks = app.source(tw.files('nowhere'), T)\n",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_paragraph(
    example: Path, mistake: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process: starting Python for each would take half a minute."""
    for name, text in FILES.items():
        (example / name).write_text(text)
    arguments, paragraph = MISTAKES[mistake]
    monkeypatch.chdir(example)
    monkeypatch.setattr("sys.argv", ["thalweg", *arguments])
    with pytest.raises(SystemExit) as end:
        command.main()
    said = capfd.readouterr().err
    assert end.value.code in (1, 2)
    assert paragraph in said
    assert "Traceback" not in said


def test_a_mistake_as_json(example: Path) -> None:
    done = thalweg("explain", "bargains.py", "--fuse", "al", "--json", cwd=example)
    assert (done.returncode, done.stderr) == (1, "")
    said = json.loads(done.stdout)
    assert (said["error"], said["hint"]) == ("plan error", "did you mean `all`?")


def test_a_bug_of_thalweg_is_one_paragraph(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(finding: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("thalweg.cli.commands.doctor.print_json", fail)
    monkeypatch.setattr("sys.argv", ["thalweg", "doctor", "--json"])
    with pytest.raises(SystemExit) as end:
        command.main()
    document = json.loads(capfd.readouterr().out)
    assert (end.value.code, document["error"]) == (1, "internal error")
    assert document["found"] == "ZeroDivisionError: a bug"
    assert "thalweg/cli/commands/doctor.py:" in document["at"]
    assert "--debug" in document["hint"]
    monkeypatch.setattr("sys.argv", ["thalweg", "doctor", "--json", "--debug"])
    with pytest.raises(ZeroDivisionError):
        command.main()


def test_debug_shows_the_traceback(example: Path) -> None:
    done = thalweg("explain", "bargains.py", "--fuse", "al", "--debug", cwd=example)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
