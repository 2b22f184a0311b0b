"""A restart warns about operators that are not as they were at the last start, and names them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.small import thalweg
from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.engine.core.stop import Stop
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import CheckpointError, ThalwegWarning, kept_warnings
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import plan_run

APP = '''
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache, cached_property, partial, partialmethod, singledispatch
from pathlib import Path

import thalweg as tw
from thalweg import agg, window

import digest_helper

HERE = Path(__file__).parent
FACTOR = 2
NAMES = {"a", "b", "c"}
SINCE = datetime(2024, 1, 1)
PATTERN = re.compile("[a-z]")
n = 1  # called as the attribute that functions read


class Row(tw.Tuple):
    k: str
    n: int


LARGEST = 10**9


class Small(tw.Tuple):
    k: str
    n: int

    def is_small(self):
        """A method."""
        return -(10**9) < self.n < LARGEST


class Scale:
    """A captured object."""

    by = 3

    def of(self, n):
        return n * self.by


class Limits:
    low = -1


class Wrapped:
    def least(self, n):
        return n

    of_six = partialmethod(least, -6)

    @cached_property
    def of_seven(self):
        return self.least(-7)


class Narrow:
    __slots__ = ("least", "unset")

    def __init__(self, least):
        self.least = least


NARROW = Narrow(-11)


@singledispatch
def by_type(value):
    return 0


@by_type.register
def _(value: int):
    return value - 8


@contextmanager
def bound():
    yield -9


def bounds(n):
    with bound() as nine:
        return max(Wrapped().of_six(), Wrapped().of_seven, by_type(n), nine, bounds.table["ten"], NARROW.least)


bounds.table = {"ten": -10}


class Level(Enum):
    HIGH = 1000


@dataclass(frozen=True)
class Offset:
    """A value with a method."""

    by: int

    def of(self, n):
        """The sum."""
        return n + self.by


OFFSET = Offset(1)


@tw.declare(state="stateless")
def typed(t):
    """Uses values of several types."""
    late = bounds(0) > 0 or t.n > SINCE.year or not PATTERN.match(t.k) or t.n > Level.HIGH.value
    return Row(t.k, 0 if late or t.n < Limits.low else digest_helper.halved(OFFSET.of(t.n)))


class Last(tw.Operator):
    def __init__(self, keep):
        self.keep, self.n = keep, 0

    def process(self, t, port):
        self.n = t.n
        self.submit({"k": t.k, "n": self.n + 1})


@cache
def known(n):
    return n + 1


def helper(n):
    return known(n) * 10


def remember(t, state, submit):
    submit({"k": t.k, "n": helper(t.n) + (state or 0)})
    return t.n


def added(more, t):
    return {"k": t.k, "n": t.n + more}


limit = tw.param("limit", default=0)
scale = Scale()
app = tw.App("changing")
rows = app.source(tw.files(HERE / "in", format="jsonl"), Row)
above = rows.filter(lambda t: t.n >= limit)
few = above.filter(lambda t: t.k in NAMES)
times = few.map(lambda t: {"k": t.k, "n": t.n * FACTOR}, Row)
scaled = times.map(lambda t: {"k": t.k, "n": scale.of(t.n)}, Row)
more = scaled.map(partial(added, 5), Row)
various = more.map(typed, Row)
kept = various.custom(remember, Row, by="k", state=0)
(last,) = tw.operator(Last(1), kept, by="k", into=[Row], name="last")
small = last.map(lambda t: {"k": t.k, "n": t.n}, Small).filter(lambda t: t.is_small())
sums = small.aggregate(window.tumbling(count=2, by="k"), k=agg.any("k"), n=agg.sum("n"))
slow = sums.throttle(1_000_000)
slow.sink(tw.files(HERE / "out", format="jsonl"), name="files")
slow.sink(tw.none(), name="nowhere")
'''

HELPER = """
def halved(n):
    return n // 2
"""

SINCE = " is not as it was at the last start: "
FUNCTION = SINCE + "its function, or a value or function that it uses, changed"
METHODS = SINCE + "its methods, or a value or function that they use, changed"
LOGIC = SINCE + "its code, or a value that it uses, changed"

# What is changed, and what is said.
CHANGES = {
    "body of a filter": (
        ("t.n >= limit", "t.n > limit - 1"),
        "the filter above" + FUNCTION,
    ),
    "captured constant": (
        ("FACTOR = 2", "FACTOR = 4"),
        "the map times" + FUNCTION,
    ),
    "captured set": (
        ('NAMES = {"a", "b", "c"}', 'NAMES = {"a", "b"}'),
        "the filter few" + FUNCTION,
    ),
    "captured object": (("by = 3", "by = 5"), "the map scaled" + FUNCTION),
    "its method": (("n * self.by", "self.by * n"), "the map scaled" + FUNCTION),
    "argument of a partial": (("added, 5", "added, 6"), "the map more" + FUNCTION),
    "captured datetime": (("datetime(2024, 1", "datetime(2025, 1"), "the map various" + FUNCTION),
    "method of a tuple type": (("-(10**9) <", "-(10**8) <"), "the tuple type Small" + METHODS),
    "value that it uses": (("LARGEST = 10**9", "LARGEST = 10**8"), "the tuple type Small" + METHODS),
    "captured pattern": (("[a-z]", "[a-y]"), "the map various" + FUNCTION),
    "attribute of a class without methods": (("low = -1", "low = -2"), "the map various" + FUNCTION),
    "argument of a partial method": (("(least, -6)", "(least, -16)"), "the map various" + FUNCTION),
    "cached property": (("self.least(-7)", "self.least(-17)"), "the map various" + FUNCTION),
    "value in a slot": (("Narrow(-11)", "Narrow(-21)"), "the map various" + FUNCTION),
    "function for a type": (("value - 8", "value - 18"), "the map various" + FUNCTION),
    "function under a decorator of Python": (("yield -9", "yield -19"), "the map various" + FUNCTION),
    "attribute of a function": (('"ten": -10', '"ten": -20'), "the map various" + FUNCTION),
    "value of an enum": (("HIGH = 1000", "HIGH = 2000"), "the map various" + FUNCTION),
    "method of a dataclass": (("n + self.by", "self.by + n"), "the map various" + FUNCTION),
    "code with state": (("(state or 0)", "state"), "the custom kept" + LOGIC),
    "function that it calls": (
        ("known(n) * 10", "known(n) * 11"),
        "the custom kept" + LOGIC,
    ),
    "cached function": (
        ("return n + 1", "return n + 2"),
        "the custom kept" + LOGIC,
    ),
    "operator class": (("self.n + 1", "self.n + 2"), "the operator last" + LOGIC),
    "its setting": (("Last(1)", "Last(2)"), "the operator last" + LOGIC),
    "option": (
        ("throttle(1_000_000)", "throttle(2_000_000)"),
        "the pace slow" + SINCE + "rate_per_s was 1000000.0 and is 2000000.0",
    ),
    "sink folder": (
        ('HERE / "out"', 'HERE / "other"'),
        "the sink files" + SINCE + "folder was {here}/out and is {here}/other",
    ),
    "sink format": (
        ('HERE / "out", format="jsonl"', 'HERE / "out", format="csv"'),
        "the sink files" + SINCE + "format was 'jsonl' and is 'csv'",
    ),
    "sink of a different kind": (
        ('slow.sink(tw.files(HERE / "out", format="jsonl"), name="files")', 'slow.sink(tw.collect(), name="files")'),
        "the sink files" + SINCE + "it was tw.files(…) and is tw.collect()",
    ),
    "input of a sink": (
        ('slow.sink(tw.none(), name="nowhere")', 'rows.sink(tw.none(), name="nowhere")'),
        "the sink nowhere" + SINCE + "its input was slow and is rows",
    ),
    "another sink": (
        ('slow.sink(tw.none(), name="nowhere")', 'slow.sink(tw.none(), name="elsewhere")'),
        "since the last start, operators are new: elsewhere",
    ),
    "source folder": (
        ('HERE / "in"', 'HERE / "in2"'),
        "source rows read {here}/in at the first start and reads {here}/in2 from this start on: files are identified "
        "by their paths, so all files there count as new",
    ),
    "parameter": (("default=0", "default=1"), "parameter limit was 0 at the first start and is 1 from this start on"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("in", "in2"):
        (tmp_path / name).mkdir()
        lines = [f'{{"k": "{k}", "n": {n}}}\n' for n, k in enumerate("abcabcabcabc")]
        (tmp_path / name / "a.jsonl").write_text("".join(lines))
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "digest_helper.py").write_text(HELPER)
    sys.modules.pop("digest_helper", None)
    return tmp_path


def run(folder: Path, *changes: tuple[str, str], engine: str = "local", follow: bool = True) -> list[str]:
    """Run one epoch, in this process; the warnings."""
    text = APP
    for before, now in changes:
        assert before in text
        text = text.replace(before, now)
    app = folder / f"app{len(list(folder.glob('app*.py')))}.py"  # Python caches the lines of a file
    app.write_text(text)
    stop = Stop()

    def watch(report: EpochReport) -> None:
        stop.request()

    options = RunOptions(folder / "checkpoint", follow, max_tuples_per_epoch=2, interval_s=0.01, stop=stop)
    with warnings.catch_warnings(), kept_warnings() as kept:
        warnings.simplefilter("ignore", ThalwegWarning)
        plan = plan_run(load_app(str(app)).graph(), PlanRequest(), options.checkpoint).plan
        run_plan(plan, engine, options, watch)
    return kept


@pytest.mark.parametrize("what", list(CHANGES))
def test_a_change_is_named_once(folder: Path, what: str) -> None:
    assert run(folder) == []
    assert run(folder) == [], "the same code"
    change, said = CHANGES[what]
    found = run(folder, change)
    assert found[0] == said.format(here=folder)
    assert len(found) == (2 if what in ("another sink", "parameter") else 1), found
    assert (run(folder, change) == []) == (what not in ("parameter", "source folder")), "known from then on"


def test_a_function_of_a_helper_module(folder: Path) -> None:
    run(folder)
    (folder / "digest_helper.py").write_text(HELPER.replace("n // 2", "n // 2 + 1"))
    sys.modules.pop("digest_helper")
    assert run(folder) == ["the map various" + FUNCTION]


def test_what_does_nothing_is_not_a_change(folder: Path) -> None:
    run(folder)
    docstrings = (
        ('"""Uses values of several types."""', '"""Other words."""'),
        ('        """The sum."""\n', ""),
        ('        """A method."""\n', ""),
        ('"""A captured object."""', '"""An object."""'),
        ("def remember(t, state, submit):\n", 'def remember(t, state, submit):\n    """New."""\n    # A comment.\n'),
    )
    assert run(folder, *docstrings) == []
    assert run(folder, ("n = 1  #", "n = 2  #")) == [], "no function reads it: `t.n` is an attribute"


def test_a_docstring_does_not_change_the_state_of_a_window(folder: Path) -> None:
    weight = "def weight(t):\n    return len(t.k) + t.n\n\n"
    plain = ('agg.sum("n")', "agg.sum(weight)"), ("limit = tw", f"{weight}limit = tw")
    run(folder, *plain)
    documented = ("def weight(t):\n", 'def weight(t):\n    """Of a row."""\n')
    assert run(folder, *plain, documented) == []


def test_a_changed_function_of_a_window_is_named_as_such(folder: Path) -> None:
    """The state is described by a digest of the function, which tells a user nothing."""
    total = "def total(ns):\n    return sum(sorted(ns))\n\n"
    plain = ('agg.sum("n")', 'agg.apply(total, "n", int)'), ("limit = tw", f"{total}limit = tw")
    run(folder, *plain)
    with pytest.raises(CheckpointError, match="the state of sums now has a different meaning") as caught:
        run(folder, *plain, ("sum(sorted(ns))", "sum(sorted(ns)) + 1"))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("a function, or a value or function that it uses, changed")


def test_what_was_refused_is_refused(folder: Path) -> None:
    run(folder)
    with pytest.raises(CheckpointError, match="the state of sums now has a different meaning"):
        run(folder, ("count=2", "count=3"))
    with pytest.raises(CheckpointError, match="the state of sums now has a different meaning"):
        run(folder, ('n=agg.sum("n")', 'n=agg.max("n")'))


def test_the_digests_do_not_depend_on_the_process(folder: Path) -> None:
    """Of sets in captured values and in constants, the order differs with the hash seed."""
    code = (
        "import json, sys; from thalweg.cli.find_app import load_app; from thalweg.ir.definitions import definitions; "
        "print(json.dumps(definitions(load_app(sys.argv[1]).graph())))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, str(folder / "app.py")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_a_secret_is_in_no_text(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "app.py").write_text(
        'import thalweg as tw\nkey = tw.secret("key")\n'
        "class Row(tw.Tuple):\n    k: str\n"
        'app = tw.App("hidden")\n'
        'rows = app.source(tw.files("in", format="jsonl"), Row).filter(lambda t: t.k == key.reveal())\n'
        "rows.sink(tw.none())\n"
    )
    (tmp_path / "in" / "a.jsonl").write_text('{"k": "a"}\n')
    texts = []
    for secret in ("swordfish", "marlin"):
        done = thalweg(
            "run", "app.py", "--engine", "local", "--checkpoint", secret, "--param", f"key={secret}", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        texts.append(json.loads((tmp_path / secret / "manifest.json").read_text())["code"])
    assert texts[0] == texts[1], "a digest would tell something about it"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_in_the_text_and_with_json(folder: Path, engine: str) -> None:
    (change, said), wanted = CHANGES["body of a filter"], "filter above"
    assert wanted in said
    for arguments in ((), ("--json",)):
        checkpoint = folder / f"checkpoint{len(arguments)}"
        (folder / "app.py").write_text(APP)
        command = ["run", "app.py", "--engine", engine, "--checkpoint", str(checkpoint), *arguments]
        text = APP.replace("sums.throttle", "failing.throttle").replace(
            "slow =", 'failing = sums.map(lambda t: {"k": t.k, "n": 1 // 0}, Row)\nslow ='
        )
        (folder / "app.py").write_text(text)
        assert thalweg(*command, cwd=folder).returncode == 1, "so that it is not finished"
        (folder / "app.py").write_text(text.replace(*change))
        done = thalweg(*command, cwd=folder)
        if arguments:
            events = [json.loads(line) for line in done.stdout.splitlines()]
            assert said in [e["message"] for e in events if e.get("event") == "warning"]
        else:
            assert f"warning: {said}" in " ".join(done.stderr.split())
