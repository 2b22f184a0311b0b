"""State that holds objects of the application's own classes, in workers that cannot import its module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changed_code import CHANGES_CODE
from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.optimize.passes import make_plan

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), CHANGES_CODE]

APP = """
from dataclasses import dataclass

import thalweg as tw


class Number(tw.Tuple):
    k: str
    i: int


class Best(tw.Tuple):
    i: int


@dataclass
class Seen:
    count: int
    best: Best


def remember(t, seen, submit):
    if seen is None:
        return Seen(1, Best(t.i))
    submit(Number(t.k, seen.count * 100 + seen.best.i))
    return Seen(seen.count + 1, Best(max(seen.best.i, t.i)))


app = tw.App("state")
numbers = app.source(tw.beacon(lambda i: {"k": "ab"[i % 2], "i": i * 7 % 10}, count=12), Number)
numbers.custom(remember, Number, by="k").sink(tw.collect(), name="out")
"""


def test_objects_of_the_applications_classes(tmp_path: Path) -> None:
    file = tmp_path / "users_state_app.py"
    file.write_text(APP)
    plan = make_plan(load_app(str(file)).graph(), degree=2)
    found = {
        engine: run_plan(plan, engine, RunOptions(tmp_path / engine, max_tuples_per_epoch=5)).tuples("out")
        for engine in ("local", "spark")
    }
    assert found["spark"] == found["local"]
    assert found["local"] == [
        (k, (n + 1) * 100 + max(i * 7 % 10 for i in range(first, first + 2 * n + 1, 2)))
        for n in range(5)
        for first, k in ((0, "a"), (1, "b"))
    ]


MODEL = """
import os

import thalweg as tw


class Number(tw.Tuple):
    k: str
    i: int


class Model(tw.Operator):
    def setup(self):
        self.say("setup")
        return 10

    def close(self, resource):
        self.say("close")

    def say(self, event):
        with open(LOG, "a") as file:
            file.write(f"{os.getpid()} {event}\\n")

    def process(self, t, port):
        self.submit(Number(t.k, t.i * self.resource))


app = tw.App("model")
numbers = app.source(tw.beacon(lambda i: {"k": "ab"[i % 2], "i": i}, count=12), Number)
numbers.custom(Model(), Number, by="k").sink(tw.collect(), name="out")
"""


def test_setup_once_per_worker_and_close_at_the_end(tmp_path: Path) -> None:
    """A worker that had no part in the last epoch is not asked to close: Spark does not say that it ends."""
    file, log = tmp_path / "users_model_app.py", tmp_path / "log"
    file.write_text(f"LOG = {str(log)!r}\n{MODEL}")
    plan = make_plan(load_app(str(file)).graph(), degree=2)
    found = run_plan(plan, "spark", RunOptions(tmp_path / "spark", max_tuples_per_epoch=3)).tuples("out")
    assert [i for _, i in found] == [10 * i for i in range(12)]
    events: dict[str, list[str]] = {}
    for line in log.read_text().splitlines():
        worker, event = line.split()
        events.setdefault(worker, []).append(event)
    for said in events.values():
        assert said == ["setup", "close"] * (len(said) // 2) + ["setup"] * (len(said) % 2)
    assert any("close" in said for said in events.values())
