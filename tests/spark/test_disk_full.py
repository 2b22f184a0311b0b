"""A full disk under Spark's own checkpoint: a clear stop, and the same answer when there is room again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.changed_code import CHANGES_CODE
from tests.engine.test_disk_full import fill, small_disk
from tests.small import Small, undisturbed
from thalweg.errors import StorageError

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), CHANGES_CODE]

FILES = 2


def test_the_run_stops_and_resumes(tmp_path: Path) -> None:
    expected = undisturbed(tmp_path / "undisturbed", FILES)
    with small_disk(tmp_path / "disk", 64_000_000) as disk:
        small = Small.make(tmp_path / "small", FILES)
        small = Small(small.folder, disk / "checkpoint")
        ballast = fill(disk, 60_000)
        with pytest.raises(StorageError, match=r"cannot write to .*checkpoint") as failure:
            small.run("spark")
        assert failure.value.found == "No space left on device"
        assert "no data is lost" in str(failure.value.hint)
        ballast.unlink()
        small.run("spark")
        assert small.output() == expected
        shutil.rmtree(small.checkpoint)
