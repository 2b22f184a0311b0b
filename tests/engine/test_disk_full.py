"""A full disk, on a real small file system: the run stops, names the folder, and can be resumed with more space."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

import thalweg as tw
from tests.small import Small, undisturbed
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.errors import StorageError
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.slow

FILES, PAGE = 2, 4096


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A tmpfs of this many bytes, mounted for the block."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no `mount` here")
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes, in whole pages."""
    ballast, stat = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(b"\0" * max(0, stat.f_bavail * stat.f_frsize - left))
    return ballast


def test_at_any_moment(tmp_path: Path) -> None:
    """With room for nothing, for one page, for two, … until a run needs no more. Whatever does not fit, log, state,
    results, reports or the sink's files: nothing is lost, and nothing is there by half."""
    expected = undisturbed(tmp_path / "undisturbed", FILES)
    with small_disk(tmp_path / "disk", 2_000_000) as disk:
        for pages in count():
            small = Small.make(disk / f"{pages}", FILES)
            small.graph()  # loads the application, for which Python writes files, too
            ballast = fill(disk, PAGE * pages)
            stopped = run_until_full(small)
            ballast.unlink()
            if stopped is None:
                break
            assert stopped.message.startswith(f"cannot write to {small.folder}/")
            assert stopped.found == "No space left on device"
            assert "no data is lost" in str(stopped.hint)
            small.run()
            assert small.output() == expected, f"{pages} pages"
            shutil.rmtree(small.folder)
    assert pages > 10, "the log, the state and the sinks of several epochs should be among them"


def run_until_full(small: Small) -> StorageError | None:
    try:
        small.run()
    except StorageError as error:
        return error
    return None


class Item(tw.Tuple):
    i: int
    s: str


def test_a_spool_that_does_not_fit(tmp_path: Path) -> None:
    """Files that a driver thread writes in parallel to the epochs."""
    app = tw.App("spooled")
    items = [{"i": i, "s": f"{random.Random(i).random()}" * 10} for i in range(3000)]
    app.source(tw.iterable(items), Item, name="items").sink(tw.collect(), name="out")
    with small_disk(tmp_path / "disk", 8_000_000) as disk:
        options = RunOptions(disk / "checkpoint", max_tuples_per_epoch=1000)
        ballast = fill(disk, 200_000)
        with pytest.raises(StorageError, match=r"cannot write to .*disk") as failure:
            run_local(make_plan(app.graph()), options, lambda report: None)
        assert failure.value.found == "No space left on device"
        ballast.unlink()
        result = run_local(make_plan(app.graph()), options, lambda report: None)
        assert [i for i, _ in result.tuples()] == list(range(3000))


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    """Other disk errors are reported in the same way: here there is a file in place of a folder."""
    (tmp_path / "state").write_text("")
    app = tw.App("refused")
    app.source(tw.beacon(lambda i: {"i": i, "s": ""}, count=1), Item).sink(tw.none())
    with pytest.raises(StorageError, match=r"cannot write to .*state") as failure:
        run_local(make_plan(app.graph()), RunOptions(tmp_path / "state" / "here"), lambda report: None)
    assert failure.value.found == "Not a directory"
