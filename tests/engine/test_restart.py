"""What a restart refuses, with its reason, and that a refusal loses nothing. On the local engine: no JVM."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.small import THALWEG, Small, Stop, contents, stop_after, thalweg, undisturbed
from tests.waiting import PATIENCE_S, wait_for
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.manifest import make_manifest
from thalweg.errors import CheckpointError, InputError, ThalwegError, ThalwegWarning
from thalweg.ir.layout import layout
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.slow

Change = tuple[str, str]

OTHER_WINDOW = ("count=5", "count=6")
OTHER_FOLD = ("t.price * t.volume", "t.price + t.volume")
OTHER_NAME = ('App("small")', 'App("large")')
OTHER_SOURCE = ("ticks = app.source(", 'ticks = app.source(name="tocks", endpoint=')
STATELESS_CODE = ("q.vwap > q.price", "q.price < q.vwap and q.volume >= 0")

REFUSALS: dict[str, tuple[str, tuple[Change, ...], dict[str, object]]] = {
    "degree": ("the degree of vwap, which has state, changed", (), {"degree": 3}),
    "stages": ("the stateful stages changed", (), {"fuse": "none"}),
    "window": ("the state of vwap now has a different meaning", (OTHER_WINDOW,), {}),
    "fold": ("the state of vwap now has a different meaning", (OTHER_FOLD,), {}),
    "name": (
        "an operator with state is not in the application",
        (("vwap = trades", "price_of = trades"), ("join(vwap", "join(price_of")),
        {},
    ),
    "app": ("this checkpoint belongs to a different application", (OTHER_NAME,), {}),
    "source": (
        "the sources changed",
        (OTHER_SOURCE, ('HERE / "ticks"), Tick)', 'HERE / "ticks"), tuple_type=Tick)')),
        {},
    ),
}


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def stopped(small: Small) -> dict[str, bytes]:
    """The checkpoint after a run that was left in its middle."""
    with pytest.raises(Stop):
        small.run(watch=stop_after(3))
    return contents(small.checkpoint)


@pytest.mark.parametrize("change", REFUSALS)
def test_a_start_that_does_not_fit_is_refused(small: Small, expected: dict[str, bytes], change: str) -> None:
    before = stopped(small)
    message, changes, options = REFUSALS[change]
    with pytest.raises(CheckpointError, match=message) as refusal:
        small.run("local", *changes, **options)  # type: ignore[arg-type]
    assert refusal.value.expected != refusal.value.found
    assert refusal.value.hint
    assert contents(small.checkpoint) == before
    small.run()
    assert small.output() == expected


def test_a_failure_is_kept_until_a_start_fits(small: Small) -> None:
    stopped(small)
    Checkpoint(small.checkpoint).record_failure(InputError("the first"))
    Checkpoint(small.checkpoint).record_failure(InputError("a later one"))
    with pytest.raises(CheckpointError):
        small.run(degree=3)
    assert str(Checkpoint(small.checkpoint).failure()) == "the first"
    small.run()
    assert Checkpoint(small.checkpoint).failure() is None


def test_a_different_engine_is_refused(small: Small, expected: dict[str, bytes]) -> None:
    before = stopped(small)
    plan = make_plan(small.graph(), degree=2)
    checkpoint = Checkpoint(small.checkpoint)
    with pytest.raises(CheckpointError, match="belongs to a different engine") as refusal:
        checkpoint.open(make_manifest(plan, "spark", (0, 2)))
    checkpoint.close()
    assert "--engine local" in str(refusal.value)
    assert contents(small.checkpoint) == before
    small.run()
    assert small.output() == expected


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 3}', '{"version": 3, "stages": 1}'])
def test_a_damaged_manifest(small: Small, text: str) -> None:
    stopped(small)
    (small.checkpoint / "manifest.json").write_text(text)
    with pytest.raises(CheckpointError, match="the manifest of this checkpoint is damaged"):
        small.run()


def test_stateless_code_may_change(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small)
    with pytest.warns(ThalwegWarning, match="the filter bargains is not as it was at the last start"):
        small.run("local", STATELESS_CODE)
    assert small.output() == expected


def test_fusion_inside_a_stage_may_change(small: Small, expected: dict[str, bytes]) -> None:
    """One PE per operator, but both stateful operators in one stage, as the plan's text shows."""
    stopped(small)
    graph = small.graph()
    groups = {o.name: "state" if o.key is not None else o.name for o in graph.operators}
    plan = make_plan(graph, degree=2, fuse=groups)
    assert sum(len(stage.pes) for stage in layout(plan).stages) > 2
    run_local(plan, RunOptions(small.checkpoint, max_tuples_per_epoch=40), lambda report: None)
    assert small.output() == expected


def test_a_vanished_file_stops_the_run_until_it_is_back(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small)
    begun = small.log()[-1].chunks[-1]
    assert begun.stop < begun.rows
    file, away = Path(begun.path), small.folder / "elsewhere"
    file.rename(away)
    with pytest.raises(InputError, match="disappeared before it was fully processed") as refusal:
        small.run()
    assert "put the file back" in str(refusal.value)
    away.rename(file)
    small.run()
    assert small.output() == expected


def test_a_changed_folder_is_reported(small: Small) -> None:
    """Its files count as new, even if they are the old ones in a new place: the user must know that."""
    stopped(small)
    elsewhere = small.folder / "elsewhere"
    shutil.copytree(small.folder / "ticks", elsewhere)
    said = f"source ticks read {small.folder / 'ticks'} at the first start and reads {elsewhere} from this start on"
    with pytest.warns(ThalwegWarning, match=re.escape(said)):
        small.run("local", ('HERE / "ticks"', 'HERE / "elsewhere"'))


def test_a_fully_processed_file_may_be_deleted(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small)
    done = small.log()[0].chunks[0]
    assert small.log()[1].chunks[0].stop == done.rows
    Path(done.path).unlink()
    small.run()
    assert small.output() == expected


@pytest.mark.parametrize("number", [0, 2])
def test_a_changed_file_stops_the_run(small: Small, expected: dict[str, bytes], number: int) -> None:
    """Whether it was wholly processed or is only begun."""
    stopped(small)
    file = small.folder / "ticks" / f"{number:03d}.parquet"
    stat = file.stat()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))
    with pytest.raises(InputError, match="changed after it was taken"):
        small.run()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    small.run()
    assert small.output() == expected


def test_after_the_end_nothing_is_run(small: Small, expected: dict[str, bytes]) -> None:
    """The retry of a scheduler: the stored results, and no change anywhere."""
    first = small.run()
    before = contents(small.checkpoint), contents(small.folder / "out")
    again = small.run(overwrite=True)
    assert (again.already_finished, again.stopped, again.epochs, again.tuples_in) == (True, False, 0, 0)
    assert (first.already_finished, again.tuples(), again.warnings) == (False, first.tuples(), ())
    assert (contents(small.checkpoint), contents(small.folder / "out")) == before
    assert small.output() == expected


def test_after_the_end_new_input_is_reported(small: Small, expected: dict[str, bytes]) -> None:
    small.run()
    file = small.add_ticks(4)
    (warning,) = small.run().warnings
    assert warning.startswith(f"a file of ticks is new or changed since the run ended: {file}; to process them, ")
    os.utime(small.folder / "ticks" / "000.parquet", ns=(0, 0))
    (warning,) = small.run().warnings
    assert warning.startswith("2 files of ticks are new or changed since the run ended: ")
    for path in (small.folder / "ticks").iterdir():
        path.unlink()
    (small.folder / "ticks").rmdir()
    assert small.run().warnings == (), "input that was processed may be removed"
    assert small.output() == expected


@pytest.mark.parametrize("name", REFUSALS)
def test_after_the_end_what_does_not_fit_is_still_refused(small: Small, name: str) -> None:
    small.run()
    message, changes, options = REFUSALS[name]
    with pytest.raises(CheckpointError, match=message):
        small.run("local", *changes, **options)  # type: ignore[arg-type]


def test_after_the_end_more_cannot_be_followed(small: Small) -> None:
    small.run()
    with pytest.raises(CheckpointError, match="has ended: its windows were closed, so it cannot take more input"):
        tw.run(load_app(str(small.app())), engine="local", checkpoint=small.checkpoint, degree=2, follow=True)
    with (
        pytest.warns(ThalwegWarning, match="the map gains is not as it was at the last start"),
        pytest.raises(CheckpointError, match="the tuples of kept now have a different type"),
    ):
        small.run("local", ('"symbol": q.symbol, "gain"', '"name": q.symbol, "gain"'))


@pytest.mark.slow
def test_the_command_says_that_the_run_is_finished(small: Small, expected: dict[str, bytes]) -> None:
    command = small.command("--engine", "local")[len(THALWEG) :]
    assert thalweg(*command).returncode == 0
    again = thalweg(*command)
    assert (again.returncode, again.stderr) == (0, "")
    assert "\nthe run of this checkpoint is finished; nothing was run\n" in again.stdout
    assert "kept: the first 5 of " in again.stdout
    end = json.loads(thalweg(*command, "--json").stdout.splitlines()[-1])
    assert (end["event"], end["stopped"], end["already_finished"], end["epochs"]) == ("end", False, True, 0)
    assert thalweg(*command, "--quiet").stdout == ""
    assert small.output() == expected


def test_a_second_process_is_refused(small: Small, expected: dict[str, bytes]) -> None:
    with _following(small) as first:
        wait_for(lambda: len(small.log()) == 6)
        with pytest.raises(CheckpointError, match="another process is working on"):
            small.run()
        assert first.poll() is None
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_S)
    small.run()
    assert small.output() == expected


def test_a_refusal_can_be_held_while_the_run_continues(small: Small) -> None:
    """The caught error must not keep the checkpoint's lock."""
    stopped(small)
    with pytest.raises(CheckpointError) as refusal:
        small.run(degree=3)
    small.run()
    assert "degree" in str(refusal.value)


def test_an_unrelated_folder_is_not_a_checkpoint(small: Small) -> None:
    small.checkpoint.mkdir()
    (small.checkpoint / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="is not a Thalweg checkpoint"):
        small.run()
    assert (small.checkpoint / "thesis.tex").read_text() == "years of work"


def test_a_different_runs_output_is_refused_unless_overwritten(small: Small, expected: dict[str, bytes]) -> None:
    small.run()
    again = Small(small.folder, small.folder / "second checkpoint")
    before = contents(small.folder / "out")
    with pytest.raises(CheckpointError, match="is not empty") as refusal:
        again.run()
    assert "--overwrite" in str(refusal.value)
    assert contents(small.folder / "out") == before
    again.run(overwrite=True)
    assert {n: d for n, d in again.output().items() if n.startswith("out")} == {
        n: d for n, d in expected.items() if n.startswith("out")
    }


def test_overwrite_deletes_nothing_else(small: Small) -> None:
    small.run()
    (small.folder / "out" / "notes.txt").write_text("mine")
    again = Small(small.folder, small.folder / "second checkpoint")
    before = contents(small.folder / "out")
    with pytest.raises(CheckpointError, match="is not empty"):
        again.run(overwrite=True)
    assert contents(small.folder / "out") == before


def test_overwrite_at_a_restart_keeps_the_runs_own_output(small: Small, expected: dict[str, bytes]) -> None:
    stopped(small)
    small.run(overwrite=True)
    assert small.output() == expected


def test_two_sinks_in_one_folder_are_refused(small: Small) -> None:
    """Both would write the same files, and one output would be lost without a word."""
    with pytest.raises(ThalwegError, match="two sinks"):
        small.run("local", ('gains.sink(tw.collect(), name="kept")', 'gains.sink(tw.files(HERE / "out"), name="kept")'))


def test_follow_pauses_and_resumes(small: Small, tmp_path: Path) -> None:
    """Pause, new files, go on, pause; a run without --follow then ends it."""
    with _following(small) as process:
        wait_for(lambda: len(small.log()) == 6)
        said = _interrupted(process)
    stopping = r"stopping( after epoch \d+)?; interrupt again to stop immediately"
    assert re.fullmatch(rf"{stopping}\npaused by Ctrl-C; run the same command to resume\n", said)
    small.add_ticks(4)
    with _following(small) as process:
        wait_for(lambda: len(small.log()) == 8)
        small.add_ticks(5)
        wait_for(lambda: len(small.log()) == 10)
        _interrupted(process)
    assert not any(epoch.final for epoch in small.log())
    assert not (small.checkpoint / "ended").exists()
    small.add_ticks(6)
    small.run()
    assert small.log()[-1].final
    # Waiting for files cut some epochs early: the answer is the same, spread over other files.
    assert tuples_by_sink(small.output()) == tuples_by_sink(undisturbed(tmp_path / "undisturbed", files=7))


class _following:  # noqa: N801
    """`thalweg run --follow` in another process, which ends with the block at the latest."""

    def __init__(self, small: Small) -> None:
        self.command = small.command("--engine", "local", "--follow")

    def __enter__(self) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background job ignores Ctrl-C, and its children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        return self.process

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def _interrupted(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    return said


def tuples_by_sink(output: dict[str, bytes]) -> dict[str, list[tuple[object, ...]]]:
    """All tuples of each sink, in order, whatever file they are in."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name, data in sorted(output.items()):
        if name.endswith(".parquet"):
            columns = pq.read_table(io.BytesIO(data)).columns
            found.setdefault(name.rpartition("/")[0], []).extend(zip(*(c.to_pylist() for c in columns), strict=True))
    return found
