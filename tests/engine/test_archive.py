"""The archive of Spark's classes: there as a whole, or not at all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from thalweg.engine.spark import archive
from thalweg.engine.spark.archive import archiving


def written(options: str) -> Path:
    return Path(options.partition("ArchiveClassesAtExit=")[2].partition(" ")[0])


def test_it_replaces_older_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, older = tmp_path / "classes-2.jsa", tmp_path / "classes-1.jsa"
    older.touch()
    with archiving(file) as options:
        monkeypatch.setattr(archive, "_exited_normally", lambda: bool(written(options).write_text("classes")))
        assert not file.exists()
    assert [f.name for f in tmp_path.iterdir()] == ["classes-2.jsa"]
    assert file.read_text() == "classes"
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("half", [False, True])
def test_a_java_that_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    """Or that dies over it."""
    monkeypatch.setattr(archive, "_exited_normally", lambda: not half)
    (tmp_path / "classes-1.jsa").touch()
    with archiving(tmp_path / "classes-2.jsa") as options:
        if half:
            written(options).touch()
    assert [f.name for f in tmp_path.iterdir()] == ["classes-1.jsa"]


def test_a_start_that_fails(tmp_path: Path) -> None:
    with suppress(ValueError), archiving(tmp_path / "classes.jsa") as options:
        written(options).touch()
        raise ValueError("no Spark")
    assert not list(tmp_path.iterdir())


def test_options_only_with_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert archive.mapping_options() == ""
    file = archive.archive_file()
    assert file is not None
    file.touch()
    assert f"-XX:SharedArchiveFile={file}" in archive.mapping_options()
    monkeypatch.setenv("SPARK_HOME", "/elsewhere")
    assert archive.mapping_options() == ""
