"""Errors of users' code outside of tuples: one paragraph with the operator and its line, the same at every degree."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small import THALWEG, thalweg
from thalweg.cli.signals import SIGNALS

pytestmark = pytest.mark.slow

BEGIN = """
import threading
import time
import numpy as np
import thalweg as tw

class Row(tw.Tuple):
    k: str
    n: int

app = tw.App("broken")
rows = app.source(tw.beacon(lambda i: Row(str(i % 3), i), count=20), Row)
LOCK = threading.Lock()
"""


def operator(body: str) -> str:
    """An operator class; its last line makes the operator."""
    made = 'rows.custom(Broken(), Row, by="k", name="broken").sink(tw.none())'
    return f"class Broken(tw.Operator):\n{body}\n\n{made}"


def method(head: str, body: str) -> str:
    passes = "" if head.startswith("process") else "\n    def process(self, t, port):\n        self.submit(t)"
    return f"    def {head}:\n        {body}\n{passes}"


APPS = {
    "closure": 'rows.filter(lambda t: bool(LOCK) and t.n > 1, name="broken").sink(tw.none())',
    "initial state": 'rows.custom(lambda t, s, put: put(t), Row, by="k", state=[LOCK], name="broken").sink(tw.none())',
    "attribute": operator(method("__init__(self)", "self.log = open(__file__)")),
    "class attribute": operator("    log = open(__file__)\n" + method("setup(self)", "pass")),
    "a function in the state": 'rows.custom(lambda t, s, put: None, Row, state=[lambda: 1], name="broken")'
    ".sink(tw.none())",
    "state of a run": operator(method("process(self, t, port)", "self.lock = threading.Lock()")),
    "setup": operator(method("setup(self)", "raise ValueError('no model')")),
    "close": operator(method("close(self, made)", "raise ValueError('no end')")),
    "exit in setup": operator(method("setup(self)", "raise SystemExit(3)")),
    "exit": 'def leave(t):\n    raise SystemExit\n\nrows.map(leave, Row, name="broken").sink(tw.none())',
    "no text": "class Mute(Exception):\n    def __str__(self):\n        raise self\n\ndef fail(t):\n    raise Mute\n\n"
    'rows.map(fail, Row, name="broken").sink(tw.none())',
    "memory": 'rows.map(lambda t: Row(t.k, len(bytearray(1 << 60))), Row, name="broken").sink(tw.none())',
    "memory in a batch": "def huge(table):\n    np.zeros(1 << 58)\n"
    'rows.map_batches(huge, Row, name="broken").sink(tw.none())',
}
EXPECTED = {
    "closure": ("graph error", "<lambda> captures LOCK, which cannot be sent to a worker"),
    "initial state": ("graph error", "the state of broken cannot be stored: state cannot be pickled"),
    "attribute": ("graph error", "the state of broken cannot be stored: log cannot be pickled"),
    "class attribute": ("graph error", "Broken has the attribute log, which cannot be sent to a worker"),
    "a function in the state": ("graph error", "the state of broken cannot be stored: state cannot be pickled"),
    "state of a run": ("state error", "the state of broken cannot be stored: lock cannot be pickled"),
    "setup": ("resource error", "`setup` of broken failed: ValueError: no model"),
    "close": ("resource error", "`close` of broken failed: ValueError: no end"),
    "exit in setup": ("resource error", "`setup` of broken failed: SystemExit: 3"),
    "exit": ("tuple error", "SystemExit"),
    "no text": ("tuple error", "Mute: (its text cannot be shown)"),
    "memory": ("tuple error", "MemoryError"),
    "memory in a batch": ("tuple error", "MemoryError"),
}


@pytest.mark.parametrize("kind", APPS)
def test_one_paragraph_with_the_operator_and_its_line(kind: str, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(f"{BEGIN}\n{APPS[kind]}\n")
    line = len(app.read_text().splitlines())
    title, message = EXPECTED[kind]
    shown = thalweg("run", "app.py", "--engine", "local", cwd=tmp_path)
    assert shown.returncode == 1
    first, *more = shown.stderr.splitlines()
    assert first.startswith(f"{title}: {message}")
    assert first.endswith(f"(operator broken, app.py:{line})")
    assert all(text.startswith("  ") for text in more)  # no traceback
    assert "Traceback" not in shown.stdout + shown.stderr
    as_json = thalweg("run", "app.py", "--engine", "local", "--degree", "2", "--json", cwd=tmp_path)
    assert (as_json.returncode, as_json.stderr) == (1, "")
    document = json.loads(as_json.stdout.splitlines()[-1])
    assert (document["error"], document["operator"], document["where"]) == (title, "broken", f"{app}:{line}")
    assert document["message"].startswith(message)


def heed_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)  # a shell's background jobs ignore some of them


def interrupted(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, with a Ctrl-C after its first line of output."""
    (tmp_path / "app.py").write_text(text)
    return signalled([*THALWEG, *arguments], tmp_path, signal.SIGINT)


def signalled(command: list[str], folder: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """A program that gets a signal after its first line of output."""
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(number)
    out, err = running.communicate()
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)


LOADING = "import time\nprint('ready', flush=True) or time.sleep(100)\n"
BUILDING = f"""{BEGIN}
class Slow:
    def __reduce__(self):
        print("ready", flush=True) or time.sleep(100)
        return Slow, ()

slow = Slow()
rows.filter(lambda t: bool(slow)).sink(tw.none())
"""


@pytest.mark.parametrize(("text", "line"), [(LOADING, 2), (BUILDING, len(BUILDING.splitlines()) - 4)])
def test_ctrl_c_while_the_application_is_loaded(tmp_path: Path, text: str, line: int) -> None:
    done = interrupted(tmp_path, text, "run", "app.py", "--engine", "local")
    assert done.returncode == 130
    assert done.stderr.split() == f"interrupted: Ctrl-C while app.py was loaded (app.py:{line})".split()
    done = interrupted(tmp_path, text, "explain", "app.py", "--json")
    assert (done.returncode, done.stderr) == (130, "")
    document = json.loads(done.stdout)
    assert (document["error"], document["where"]) == ("interrupted", f"{tmp_path}/app.py:{line}")


CHECKED = f"""{BEGIN}
def slow(t):
    print("ready", flush=True) or time.sleep(100)

rows.map(slow, Row).sink(tw.none())
"""


def test_ctrl_c_during_a_command(tmp_path: Path) -> None:
    done = interrupted(tmp_path, CHECKED, "check", "app.py")
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted: Ctrl-C during `thalweg check`")
    done = interrupted(tmp_path, CHECKED, "check", "app.py", "--json")
    assert (done.returncode, done.stderr) == (130, "")
    assert json.loads(done.stdout)["message"] == "Ctrl-C during `thalweg check`"


SLOW_IMPORT = """
import sys, time
from thalweg.cli.start import main

class Slow:
    def find_spec(self, name, *more):
        if name == {module!r}:
            print("ready", flush=True) or time.sleep(100)

sys.meta_path.insert(0, Slow())
sys.argv = ["thalweg", "run", "app.py", *{more}]
main()
"""


@pytest.mark.parametrize("module", ["thalweg.cli.main", "thalweg.cli.commands.run"])
def test_a_signal_while_the_command_is_loaded(tmp_path: Path, module: str) -> None:
    python = [sys.executable, "-c"]
    done = signalled([*python, SLOW_IMPORT.format(module=module, more=[])], tmp_path, signal.SIGINT)
    assert (done.returncode, done.stderr) == (130, "interrupted: Ctrl-C before the command was loaded\n")
    done = signalled([*python, SLOW_IMPORT.format(module=module, more=["--json"])], tmp_path, signal.SIGINT)
    assert (done.returncode, done.stderr, json.loads(done.stdout)["error"]) == (130, "", "interrupted")
    for number in (signal.SIGTERM, signal.SIGHUP):
        done = signalled([*python, SLOW_IMPORT.format(module=module, more=[])], tmp_path, number)
        assert (done.returncode, done.stderr) == (-number, f"stopped by {number.name}\n")


def test_a_text_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        BEGIN
        + """
def fail(t):
    raise ValueError("one\\ntwo")

rows.filter(fail, name="broken").sink(tw.none())
"""
    )
    shown = thalweg("run", "app.py", "--engine", "local", cwd=tmp_path)
    line = len(BEGIN.splitlines())
    assert shown.stderr.splitlines() == [
        "tuple error: ValueError: one",
        f"    two  (operator broken, app.py:{line + 5})",
        f"  at: app.py:{line + 3}, in fail",
        "  found: Row(k='0', n=0)",
    ]


def test_a_module_that_exits(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(f"{BEGIN}\nrows.sink(tw.none())\nraise SystemExit\n")
    line = len(BEGIN.splitlines()) + 3
    shown = thalweg("run", "app.py", "--engine", "local", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr.startswith(f"graph error: app.py cannot be loaded  (app.py:{line})\n  found: SystemExit\n")


@pytest.mark.parametrize("degree", [1, 2])
def test_a_function_that_raises_keyboard_interrupt(tmp_path: Path, degree: int) -> None:
    text = """
@tw.declare(state="stateless")
def stop(t):
    raise KeyboardInterrupt

rows.map(stop, Row).sink(tw.none())
"""
    (tmp_path / "app.py").write_text(BEGIN + text)
    shown = thalweg("run", "app.py", "--engine", "local", "--degree", str(degree), cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (130, "stopped by Ctrl-C\n")
