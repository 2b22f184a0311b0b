"""Migration of checkpoints on the local engine: what resumes, what is refused, and kill -9 at every step."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.engine.test_crash import finished, in_child
from tests.mixed import Mixed, results
from tests.small import PER_EPOCH, Small, Stop, contents, stop_after, thalweg, undisturbed
from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.cli.main import cli
from thalweg.engine.core.run import RunOptions, Watch
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.state import carry_over as carried
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint, read_manifest
from thalweg.engine.state.migrate import agreed_times, migrate
from thalweg.engine.state.stored_state import StoredState
from thalweg.engine.storage import small_files as storage
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.manifest import Manifest, make_manifest
from thalweg.engine.storage.migration_marks import MIGRATING
from thalweg.errors import CheckpointError, PlanError
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import PlanRequest

pytestmark = pytest.mark.slow

ONE_MORE = ("bargains.sink(", 'ticks.dedup("symbol", name="once").sink(tw.none())\nbargains.sink(')


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def stopped(small: Small, epoch: int = 2) -> None:
    with pytest.raises(Stop):
        small.run(watch=stop_after(epoch))


def moved_to(small: Small, name: str, change: PlanRequest) -> Small:
    migrate(small.checkpoint, small.folder / name, change)
    return Small(small.folder, small.folder / name)


def test_up_down_and_a_different_fusion(small: Small, expected: dict[str, bytes]) -> None:
    """2 channels, then 5 with one PE per operator, then 1; an epoch that was logged and not committed is run once."""
    stopped(small, 0)
    log = Checkpoint(small.checkpoint).log
    assert EpochCutter(small.graph().sources, log, PER_EPOCH).next_epoch(closing=True) is not None
    wide = moved_to(small, "wide", PlanRequest(degree=5, buckets=7))
    assert read_manifest(wide.checkpoint).first_epoch == 1
    assert len(wide.log()) == 2
    assert read_manifest(wide.checkpoint).stages is None
    plan = make_plan(wide.graph(), degree=5, buckets=7, fuse="none")
    options = RunOptions(wide.checkpoint, max_tuples_per_epoch=PER_EPOCH)
    with pytest.raises(Stop):
        run_plan(plan, "local", options, stop_after(3))
    assert read_manifest(wide.checkpoint).stages == (("vwap",), ("bargains.join",))
    narrow = moved_to(wide, "narrow", PlanRequest(degree=1))
    narrow.run(degree=1)
    assert narrow.output() == expected
    assert [report.epoch for report in Checkpoint(narrow.checkpoint).reports(0)] == list(range(7))
    assert inspect_checkpoint(narrow.checkpoint).epochs_done == 7
    assert [e.base for e in narrow.log()] == [PER_EPOCH * n for n in range(7)]


def test_the_state_is_the_same(small: Small) -> None:
    stopped(small)
    before = inspect_checkpoint(small.checkpoint)
    wide = moved_to(small, "wide", PlanRequest(degree=3, buckets=8))
    found = inspect_checkpoint(wide.checkpoint)
    assert (found.epochs_done, found.epochs_logged, found.tuples) == (3, 3, before.tuples)
    for state in before.operators:
        assert sorted(map(repr, found.operator(state.name).entries())) == sorted(map(repr, state.entries()))
        places = {(p.channel, p.bucket) for p in found.operator(state.name).parts}
        assert len(places) > 2
        assert all(channel == bucket % 3 for channel, bucket in places)
    assert found.manifest.run == before.manifest.run


def test_all_kinds_of_state(tmp_path: Path) -> None:
    """Event time, a loop, users' classes, a state without key, a spooled source; moved without the application."""
    whole = Mixed.make(tmp_path / "whole")
    whole.run(tmp_path / "whole-state")
    wanted = results(tmp_path / "whole-state")
    mixed = Mixed.make(tmp_path / "moved")
    places = [tmp_path / f"state{number}" for number in range(4)]
    with pytest.raises(Stop):
        mixed.run(places[0], degree=2, watch=stop_after(2))
    said = thalweg("migrate", str(places[0]), str(places[1]), "--degree", "4", "--buckets", "6")
    assert said.returncode == 0, said.stderr
    assert f"resume with: thalweg run APP --checkpoint {places[1]} --engine local --degree 4 --buckets 6" in said.stdout
    with pytest.raises(Stop):
        mixed.run(places[1], degree=4, buckets=6, fuse="none", watch=stop_after(3))
    migrate(places[1], places[2], PlanRequest(degree=3))
    migrate(places[2], places[3], PlanRequest(degree=1))  # nothing was run in between: a seed of a seed
    mixed.run(places[3], degree=1)
    assert results(places[3]) == wanted
    spooled = [c.path for e in Checkpoint(places[3]).log for c in e.chunks if c.source == "numbers"]
    assert all(Path(path).is_relative_to(places[3]) for path in spooled)


def test_the_old_checkpoint_is_kept_and_cannot_be_resumed(small: Small) -> None:
    stopped(small)
    before = contents(small.checkpoint)
    wide = moved_to(small, "wide", PlanRequest(degree=3))
    assert {n: d for n, d in contents(small.checkpoint).items() if not n.endswith("migrated.json")} == before
    for again in (small.run, lambda: migrate(small.checkpoint, small.folder / "third", PlanRequest(degree=4))):
        with pytest.raises(CheckpointError, match="was migrated to") as refusal:
            again()
        assert str(wide.checkpoint) in str(refusal.value.hint)
    assert not (small.folder / "third").exists()
    said = CliRunner().invoke(cli, ["state", str(small.checkpoint)])
    assert f"migrated to {wide.checkpoint}" in said.stdout
    assert "can be resumed" in CliRunner().invoke(cli, ["state", str(wide.checkpoint)]).stdout


def test_the_hint_of_a_changed_degree_names_the_command(small: Small) -> None:
    stopped(small)
    with pytest.raises(CheckpointError) as refusal:
        small.run(degree=3)
    assert "thalweg migrate CHECKPOINT NEW --degree 3" in str(refusal.value)
    wide = moved_to(small, "wide", PlanRequest(degree=3))
    with pytest.raises(CheckpointError, match="the degree of vwap") as refusal:
        wide.run(degree=2)
    assert refusal.value.expected == "3"
    with pytest.raises(CheckpointError, match="the operators with state changed"):
        wide.run(
            "local", ("bargains.sink(", "ticks.dedup('symbol', name='d').sink(tw.none())\nbargains.sink("), degree=3
        )


def test_the_hint_of_a_changed_number_of_channels_names_both_options(small: Small) -> None:
    """Without a key no degree changes, but the number of channels does."""
    app = small.folder / "unkeyed_app.py"
    text = small.app().read_text()
    counted = "ticks.aggregate(window.running(), n=agg.count()).sink(tw.none())\n"
    app.write_text(text[: text.index("trades =")] + counted)

    def run(degree: int, watch: Watch = lambda report: None) -> None:
        options = RunOptions(small.checkpoint, max_tuples_per_epoch=PER_EPOCH, in_process=True)
        run_plan(make_plan(load_app(str(app)).graph(), degree=degree), "local", options, watch)

    with pytest.raises(Stop):
        run(2, stop_after(1))
    with pytest.raises(CheckpointError, match="the number of channels and buckets changed") as refusal:
        run(1)
    assert refusal.value.hint == ("--degree 2 --buckets 2, or thalweg migrate CHECKPOINT NEW --degree 1 --buckets 1")
    run(2)


def test_refusals(small: Small, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a Thalweg checkpoint"):
        migrate(tmp_path / "nothing", tmp_path / "new", PlanRequest(degree=3))
    assert not (tmp_path / "nothing").exists()
    stopped(small)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="is not empty"):
        migrate(small.checkpoint, tmp_path / "full", PlanRequest(degree=3))
    assert (tmp_path / "full" / "thesis.tex").read_text() == "years of work"
    for wrong in (small.checkpoint, small.checkpoint / "inside", small.checkpoint.parent):
        with pytest.raises(CheckpointError, match="in a separate folder"):
            migrate(small.checkpoint, wrong, PlanRequest(degree=3))
    with pytest.raises(PlanError, match="fewer buckets than channels"):
        migrate(small.checkpoint, tmp_path / "new", PlanRequest(degree=3, buckets=2))
    with (small.checkpoint / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CheckpointError, match="another process is working on"):
            migrate(small.checkpoint, tmp_path / "new", PlanRequest(degree=3))
    small.run()
    with pytest.raises(CheckpointError, match="has ended"):
        migrate(small.checkpoint, tmp_path / "new", PlanRequest(degree=3))
    (small.checkpoint / "ended").unlink()  # killed between the final epoch's commit and the mark
    with pytest.raises(CheckpointError, match="has ended"):
        migrate(small.checkpoint, tmp_path / "new", PlanRequest(degree=3))


def test_degrees_by_operator(small: Small, tmp_path: Path) -> None:
    """An operator that is not named keeps its degree; a name that the checkpoint does not have is refused."""
    stopped(small)
    with pytest.raises(CheckpointError, match="the checkpoint has no state of vwapp") as error:
        migrate(small.checkpoint, tmp_path / "new", PlanRequest(degree={"vwapp": 3}))
    assert error.value.hint == "did you mean `vwap`?"
    wide = moved_to(small, "wide", PlanRequest(degree={"vwap": 3}))
    assert read_manifest(wide.checkpoint).degrees == {"vwap": 3, "bargains.join": 2}


def test_channels_must_agree_on_the_event_time(small: Small) -> None:
    stopped(small)
    manifest = read_manifest(small.checkpoint)
    assert agreed_times(StoredState(1, (), {"vwap": {0: 5, 1: 5}}), manifest) == {"vwap": 5}
    for times in ({0: 5, 1: 6}, {0: 5}):
        with pytest.raises(CheckpointError, match="do not agree on the event time"):
            agreed_times(StoredState(1, (), {"vwap": times}), manifest)


def test_the_command_and_the_documents(small: Small) -> None:
    stopped(small)
    runner = CliRunner()
    said = runner.invoke(cli, ["migrate", str(small.checkpoint), str(small.folder / "wide"), "--degree", "3", "--json"])
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert (document["channels"], document["buckets"], document["engine"]) == ([2, 3], [2, 3], ["local", "local"])
    assert document["epochs"] == {"done": 3, "logged": 3}
    assert [(o["name"], o["degree"], o["keyed"]) for o in document["operators"]] == [
        ("vwap", [2, 3], True),
        ("bargains.join", [2, 3], True),
    ]
    assert all(o["keys"] > 0 and o["bytes"] > 0 for o in document["operators"])
    said = runner.invoke(cli, ["migrate", str(small.folder / "wide"), str(small.folder / "same")])
    assert said.exit_code == 0, said.output
    assert "channels 3, buckets 3, engine local" in said.stdout
    assert "vwap: " in said.stdout
    assert Manifest.from_json((small.folder / "same" / "manifest.json").read_bytes()).first_epoch == 3
    said = runner.invoke(cli, ["explain", str(small.app()), "--degree", "2", "--buckets", "5"])
    assert "plan small buckets=5 " in said.stdout


def die_at_step(number: int) -> None:
    """Patch this process to die before its step of that number: a write, a link or copy, a removed mark."""
    numbers = count(1)

    def patch(owner: object, name: str) -> None:
        do = getattr(owner, name)

        def dying(*arguments: object, **options: object) -> object:
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return do(*arguments, **options)

        setattr(owner, name, dying)

    patch(storage, "_write_part")
    patch(carried, "_carry")
    patch(Path, "replace")
    patch(Path, "unlink")


def dying_migration(small: Small, new: Path, number: int) -> None:
    die_at_step(number)
    migrate(small.checkpoint, new, PlanRequest(degree=3))


def startable(small: Small, degree: int) -> bool:
    """Whether a start would be let in; it runs nothing."""
    if not (small.checkpoint / "manifest.json").exists() and not (small.checkpoint / MIGRATING).exists():
        return False  # nothing there yet: a start would be a new run
    checkpoint = Checkpoint(small.checkpoint)
    try:
        checkpoint.open(make_manifest(make_plan(small.graph(), degree=degree), "local", ()))
    except CheckpointError as error:
        if "was migrated to" in str(error) or "did not finish" in str(error):
            return False
        raise
    finally:
        checkpoint.close()
    return True


def test_killed_at_every_step(tmp_path: Path) -> None:
    """Whenever it is killed, exactly one of the two folders can be started, and it gives the whole answer."""
    expected = undisturbed(tmp_path / "undisturbed", files=2)
    sides = {"old": 0, "new": 0}
    for number in count(1):
        small = Small.make(tmp_path / str(number), files=2)
        stopped(small, 1)
        new = Small(small.folder, small.folder / "new")
        whole = finished(in_child(lambda: dying_migration(small, new.checkpoint, number)))
        which = [name for name, s, d in (("old", small, 2), ("new", new, 3)) if startable(s, d)]
        assert len(which) == 1, f"killed at step {number}: {which} can be started"
        sides[which[0]] += 1
        if which == ["old"] and number % 4 == 0:  # go on with the old one
            small.run()
            assert small.output() == expected, f"killed at step {number}"
        elif which == ["old"]:
            migrate(small.checkpoint, new.checkpoint, PlanRequest(degree=3))
        if which == ["new"] or number % 4 == 2:
            new.run(degree=3)
            assert new.output() == expected, f"killed at step {number}"
        if whole:
            break
    assert sides["old"] > 20
    assert sides["new"] >= 2, "the last mark, and the end"
