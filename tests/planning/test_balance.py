"""Balanced routing of whole runs: what a sample shows, that it stays fixed in a checkpoint, how it is moved."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import thalweg as tw
from tests.small import PER_EPOCH, ROWS_PER_FILE, Small, Stop, stop_after
from thalweg import agg, window
from thalweg.api import run_plan
from thalweg.cli.main import cli
from thalweg.engine.core.run import RunOptions
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint, read_manifest
from thalweg.engine.state.migrate import migrate
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import CheckpointError, PlanError, ThalwegWarning
from thalweg.ir.bucket_tables import plain_table
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import PlanRequest
from thalweg.planning.measure_keys import measure_keys
from thalweg.planning.run_plan import RunPlan, plan_run
from thalweg.runtime.keys import buckets_of

pytestmark = pytest.mark.slow

FILES = 4
# How often each of eight symbols comes in 60 rows. By their hashes, the heaviest share one of two channels.
WEIGHTS = {"S0": 3, "S1": 20, "S2": 2, "S3": 16, "S4": 12, "S5": 1, "S6": 5, "S7": 1}


def skewed(file: int, weights: dict[str, int]) -> pa.Table:
    symbols = [name for name, weight in weights.items() for _ in range(weight)]
    rows = range(len(symbols))
    symbols = [symbols[(row * 7 + file) % len(symbols)] for row in rows]
    kinds = ["T" if row * 2 % 3 else "Q" for row in rows]
    return pa.table(
        {
            "kind": kinds,
            "symbol": symbols,
            "price": [1.0 + row % 5 for row in rows],
            "volume": [1 + r % 3 for r in rows],
        }
    )


@pytest.fixture
def small(tmp_path: Path) -> Small:
    made = Small(tmp_path / "small", tmp_path / "small" / "checkpoint")
    for number in range(FILES):
        made.add_table(skewed(number, WEIGHTS), f"{number:03d}.parquet")
    return made


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, bytes]:
    whole = Small(tmp_path / "whole", tmp_path / "whole" / "checkpoint")
    for number in range(FILES):
        whole.add_table(skewed(number, WEIGHTS), f"{number:03d}.parquet")
    whole.run()
    return whole.output()


def run(small: Small, plan: Plan, watch: Callable[[EpochReport], None] = lambda report: None) -> None:
    run_plan(plan, "local", RunOptions(small.checkpoint, max_tuples_per_epoch=PER_EPOCH), watch)


def planned(small: Small, *, balance: bool = True, degree: int = 2, buckets: int | None = None) -> RunPlan:
    return plan_run(small.graph(), PlanRequest(degree=degree, buckets=buckets, balance=balance), small.checkpoint)


def stopped(small: Small, plan: Plan, epoch: int = 1) -> None:
    with pytest.raises(Stop):
        run(small, plan, stop_after(epoch))


def test_the_sample_is_counted_at_every_port(small: Small) -> None:
    assert sum(WEIGHTS.values()) == ROWS_PER_FILE
    loads = measure_keys(small.graph(), 16)
    counted: dict[str, Counter[int]] = {"vwap": Counter(), "bargains.join": Counter()}
    for number in range(FILES):
        for row in skewed(number, WEIGHTS).to_pylist():
            (bucket,) = buckets_of(pa.array([row["symbol"]]), 16).tolist()
            counted["vwap"][bucket] += row["kind"] == "T"
            counted["bargains.join"][bucket] += 1  # the quotes on its left, the aggregate's output on its right
    assert loads.tuples == FILES * ROWS_PER_FILE
    assert loads.at == {name: tuple(found[b] for b in range(16)) for name, found in counted.items()}
    assert sum(measure_keys(small.graph(), 16, tuples=70).at["bargains.join"]) == 70


class Item(tw.Tuple):
    symbol: str
    unread: int


def test_a_sample_does_not_wait_and_reads_only_what_a_run_reads(small: Small) -> None:
    """The files have no such attribute, which no run would notice; the throttle would take days."""
    app = tw.App("slow")
    items = app.source(tw.files(small.folder / "ticks"), Item).throttle(0.001)
    items.aggregate(window.running(by="symbol"), name="counted", n=agg.count()).sink(tw.none())
    assert sum(measure_keys(app.graph(), 4).at["counted"]) == FILES * ROWS_PER_FILE


def test_a_tuple_that_fails_ends_the_sample(small: Small) -> None:
    failing = ('t.kind == "Q"', 't.kind == "Q" and 1 // (t.volume - 1) >= 0')
    with pytest.warns(ThalwegWarning, match="the sample ends where a tuple fails: ZeroDivisionError.*, at quotes"):
        loads = measure_keys(small.graph(failing), 4)
    assert (loads.tuples, any(loads.at["vwap"])) == (0, False)


def test_the_heaviest_channel_gets_lighter_and_the_answer_stays(small: Small, expected: dict[str, bytes]) -> None:
    made = planned(small)
    assert made.loads is not None
    assert (made.plan.buckets, set(made.plan.tables)) == (128, {"vwap", "bargains.join"})
    assert len(layout(made.plan).stages) == 2
    run(small, made.plan)
    assert small.output() == expected


def test_a_restart_keeps_the_table_whatever_comes(small: Small, expected: dict[str, bytes]) -> None:
    """Other data would give another table: the checkpoint's is taken, with and without --balance, and no sample."""
    first = planned(small).plan
    stopped(small, first)
    other = Small(small.folder / "other", small.folder / "other" / "checkpoint")
    other.add_table(skewed(0, dict(zip(WEIGHTS, reversed(WEIGHTS.values()), strict=True))), "000.parquet")
    assert planned(other).plan.tables != first.tables
    (small.folder / "ticks").rename(small.folder / "away")
    (other.folder / "ticks").rename(small.folder / "ticks")
    for balance in (True, False):
        again = planned(small, balance=balance)
        assert (again.loads, print_plan(again.plan)) == (None, print_plan(first))
    (small.folder / "ticks").rename(other.folder / "ticks")
    (small.folder / "away").rename(small.folder / "ticks")
    run(small, planned(small, balance=False).plan)
    assert small.output() == expected


def test_a_different_table_is_refused(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small, first := planned(small).plan)
    plain = make_plan(small.graph(), degree=2, buckets=first.buckets)
    with pytest.raises(
        CheckpointError, match="the keys of vwap, which has state, are now routed by a different table"
    ) as refusal:
        run(small, plain)
    assert refusal.value.found == "bucket % degree"
    with pytest.raises(CheckpointError, match="the number of channels and buckets changed") as refusal:
        run(small, planned(small, buckets=5).plan)
    assert refusal.value.hint == "--buckets 128, or thalweg migrate CHECKPOINT NEW --buckets 5"
    with pytest.raises(CheckpointError, match="the degree of vwap"):
        run(small, planned(small, degree=3).plan)
    run(small, planned(small).plan)
    assert small.output() == expected


def test_a_checkpoint_without_tables_stays_without(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small, planned(small, balance=False).plan)
    with pytest.warns(ThalwegWarning, match="thalweg migrate CHECKPOINT NEW --balance"):
        again = planned(small)
    assert (again.plan.tables, again.plan.buckets) == ({}, 2)
    run(small, again.plan)
    assert small.output() == expected


def test_it_warns_if_it_has_no_effect(small: Small, tmp_path: Path) -> None:
    with pytest.warns(ThalwegWarning, match="with --degree 1 all keys are on one channel"):
        assert not planned(small, degree=1).plan.tables
    app = tw.App("stateless")
    app.source(tw.files(tmp_path / "none"), Item).sink(tw.none())
    with pytest.warns(ThalwegWarning, match="no operator keeps state by key"):
        assert plan_run(app.graph(), PlanRequest(degree=2, balance=True)).loads is None
    (tmp_path / "none").mkdir()
    app = tw.App("empty")
    items = app.source(tw.files(tmp_path / "none"), Item)
    items.aggregate(window.running(by="symbol"), name="counted", n=agg.count()).sink(tw.none())
    with pytest.warns(ThalwegWarning, match="there is no input yet"):
        assert not plan_run(app.graph(), PlanRequest(degree=2, balance=True)).plan.tables
    app = tw.App("connected")
    items = app.source(tw.tcp("localhost", 9), Item)
    items.aggregate(window.running(by="symbol"), name="counted", n=agg.count()).sink(tw.none())
    with pytest.raises(PlanError, match="no sample can be taken of"):
        plan_run(app.graph(), PlanRequest(degree=2, balance=True))


def test_migration(small: Small, expected: dict[str, bytes]) -> None:
    """Tables stay where degree and buckets stay, go where they change, and are made anew from the stored keys."""
    stopped(small, first := planned(small).plan, 0)
    copy = Small(small.folder, small.folder / "copy")
    migrate(small.checkpoint, copy.checkpoint, PlanRequest())
    assert read_manifest(copy.checkpoint).tables() == dict(first.tables)
    check_places(copy)
    with pytest.raises(Stop):
        run(copy, planned(copy, balance=False).plan, stop_after(1))
    plain = Small(small.folder, small.folder / "plain")
    migrate(copy.checkpoint, plain.checkpoint, PlanRequest(degree=3))
    assert (read_manifest(plain.checkpoint).assignments, read_manifest(plain.checkpoint).buckets) == ({}, 3)
    with pytest.raises(Stop):
        run(plain, planned(plain, balance=False, degree=3).plan, stop_after(3))
    even = Small(small.folder, small.folder / "even")
    said = CliRunner().invoke(
        cli, ["migrate", str(plain.checkpoint), str(even.checkpoint), "--degree", "2", "--balance", "--json"]
    )
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["balanced"] == ["vwap", "bargains.join"]
    manifest = read_manifest(even.checkpoint)
    assert manifest.buckets == 128
    assert manifest.assignments["vwap"] == manifest.assignments["bargains.join"]
    assert check_places(even)["vwap"] == [4, 4]  # keys on each channel
    assert "2 channels, 128 buckets, keys by table" in CliRunner().invoke(cli, ["state", str(even.checkpoint)]).stdout
    run(even, planned(even, balance=False).plan)
    assert even.output() == expected


def check_places(small: Small) -> dict[str, list[int]]:
    """The stored keys on each channel; every bucket is on the channel that the manifest's table assigns."""
    found = inspect_checkpoint(small.checkpoint)
    tables, keys = found.manifest.tables(), dict[str, list[int]]()
    for state in found.operators:
        degree = found.manifest.degrees[state.name]
        table = tables.get(state.name, plain_table(found.manifest.buckets, degree))
        assert state.parts
        assert all(stored.channel == table[stored.bucket] for stored in state.parts)
        keys[state.name] = [sum(s.part.keys() or 0 for s in state.parts if s.channel == c) for c in range(degree)]
    return keys


def test_commands(small: Small, expected: dict[str, bytes]) -> None:
    app = str(small.app())
    text = CliRunner().invoke(cli, ["explain", app, "--degree", "2", "--balance", "--verbose"]).stdout
    assert "balance, by the first 240 tuples of the input\n" in text
    assert "\n  bargains.join: heaviest channel 95 % -> 50 % of 240 sampled tuples\n" in text
    assert "\n  table of vwap none -> " in text
    said = json.loads(CliRunner().invoke(cli, ["explain", app, "--degree", "2", "--balance", "--json"]).stdout)
    assert said["balance"]["tuples"] == 240
    assert [o["operator"] for o in said["balance"]["operators"]] == ["vwap", "bargains.join"]
    (small.folder / "plan.txt").write_text("plan " + text.partition("\nplan ")[2].partition("\n\n")[0])
    both = CliRunner().invoke(cli, ["run", app, "--plan", str(small.folder / "plan.txt"), "--balance"])
    assert "a plan already decides balance" in str(both.exception)
    options = ["--engine", "local", "--checkpoint", str(small.checkpoint), "--max-tuples-per-epoch", str(PER_EPOCH)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ThalwegWarning)
        done = CliRunner().invoke(cli, ["run", app, "--degree", "2", "--balance", "--json", *options])
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout.splitlines()[0])
    assert plan["plan"]["operators"] == said["plan"]["operators"]
    assert plan["balance"] == said["balance"]
    assert small.output() == expected
