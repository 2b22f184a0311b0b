"""What is on the disk when the power goes: a file's content, and its name in its folder."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from tests.small import Small
from thalweg.engine.storage.small_files import create_atomically, private_temporary_folder, write_atomically

NAMED = ("checkpoint/log/*", "checkpoint/manifest.json", "checkpoint/ended", "out/epoch-*", "out/_*")


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> dict[Path, set[str]]:
    """The names that each folder held when it was last forced to disk."""
    seen: dict[Path, set[str]] = {}

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            seen[path] = {file.name for file in path.iterdir()}

    monkeypatch.setattr(os, "fsync", fsync)
    return seen


def test_names_that_others_go_by_are_forced_to_disk(tmp_path: Path, forced: dict[Path, set[str]]) -> None:
    small = Small.make(tmp_path / "small", files=2)
    small.run()
    for pattern in NAMED:
        found = list(small.folder.glob(pattern))
        assert found, pattern
        assert {file.name for file in found} <= forced[found[0].parent], pattern


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_file_systems_that_cannot_force_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    fsync = os.fsync

    def refusing(descriptor: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_dir():
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refusing)
    write_atomically(tmp_path / "a", b"1", named=True)
    create_atomically(tmp_path / "b", b"2")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]


def test_a_folder_for_temporary_files_that_others_can_enter_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shared = tmp_path / f"thalweg-{os.getuid()}"
    assert [private_temporary_folder(), private_temporary_folder()] == [shared, shared]
    assert shared.stat().st_mode & 0o777 == 0o700
    shared.chmod(0o755)
    others = [private_temporary_folder()]
    shared.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    shared.symlink_to(tmp_path / "elsewhere")
    others.append(private_temporary_folder())
    assert shared not in others
    assert [folder.stat().st_mode & 0o777 for folder in others] == [0o700, 0o700]
