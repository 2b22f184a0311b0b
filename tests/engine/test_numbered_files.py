"""Numbered small files: old ones are merged, and nothing is lost if the process is killed at any moment."""

from __future__ import annotations

import os
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.engine.test_crash import finished, in_child
from tests.small import Small, Stop, stop_after, undisturbed
from thalweg.engine.storage import numbered_files as numbered
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.engine.storage.numbered_files import NumberedFiles
from thalweg.errors import CheckpointError

GROUP = 4


def line(number: int) -> bytes:
    return f'{{"number": {number}}}'.encode()


def filled(folder: Path, upto: int) -> NumberedFiles:
    files = NumberedFiles(folder, GROUP)
    for number in range(upto):
        files.add(number, line(number))
    return files


def names(folder: Path) -> list[str]:
    return sorted(f.name for f in folder.iterdir())


class Shared(NumberedFiles):
    """As another thread sees to it that the group that was read last is another one at every moment."""

    @property
    def _known(self) -> tuple[int, list[bytes]] | None:
        return 99, [b"of another thread"] * GROUP

    @_known.setter
    def _known(self, value: tuple[int, list[bytes]] | None) -> None:
        pass


def test_threads_read_different_groups(tmp_path: Path) -> None:
    filled(tmp_path, 19)
    shared = Shared(tmp_path, GROUP)
    assert [shared.get(number) for number in range(19)] == [line(number) for number in range(19)]
    assert list(shared.after(2)) == [line(number) for number in range(2, 19)]


def test_old_ones_are_put_together_and_found(tmp_path: Path) -> None:
    files = filled(tmp_path, 19)
    single = [f"{n:010d}.json" for n in range(12, 19)]  # the newest group, and the one before it
    assert names(tmp_path) == [*single, *(f"group-{n:010d}.jsonl" for n in range(3))]
    for reader in (files, NumberedFiles(tmp_path, GROUP)):
        assert list(reader.after(0)) == [line(n) for n in range(19)]
        assert list(reader.after(6)) == [line(n) for n in range(6, 19)]
        assert (reader.get(5), reader.get(19), reader.get(4_000), reader.last()) == (line(5), None, None, line(18))
        assert (reader.file(5).name, reader.file(18).name) == ("group-0000000001.jsonl", "0000000018.json")
    assert list(NumberedFiles(tmp_path / "none").after(0)) == []
    assert NumberedFiles(tmp_path / "none").last() is None


@pytest.mark.parametrize("upto", [0, 3, 4, 9])
def test_written_at_once(tmp_path: Path, upto: int) -> None:
    files = NumberedFiles(tmp_path, GROUP)
    files.write_all(line(n) for n in range(upto))
    assert list(files.after(0)) == [line(n) for n in range(upto)]
    assert files.last() == (line(upto - 1) if upto else None)
    files.add(upto, line(upto))
    assert files.last() == line(upto)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Also by a process that slept while others wrote on and put its number away."""
    files = filled(tmp_path, 19)
    for number in (18, 2):
        with pytest.raises(FileExistsError):
            files.add(number, b"another")
    assert list(files.after(0)) == [line(n) for n in range(19)]
    log = InputLog(tmp_path / "log")
    log.append(Epoch(0, ()))
    with pytest.raises(CheckpointError, match="another process wrote epoch 0"):
        log.append(Epoch(0, (), final=True))


def test_a_hole_prevents_a_group(tmp_path: Path) -> None:
    files = filled(tmp_path, 7)
    (tmp_path / f"{1:010d}.json").unlink()
    for number in range(7, 15):
        files.add(number, line(number))
    assert not list(tmp_path.glob("group-*"))
    assert list(files.after(2)) == [line(n) for n in range(2, 15)]


def test_killed_at_every_step(tmp_path: Path) -> None:
    """Before each write, rename and removal of the additions that put a group away."""
    for number in count(1):
        folder = tmp_path / str(number)
        filled(folder, 3 * GROUP)

        def dying(number: int = number, folder: Path = folder) -> None:
            steps = count(1)
            for name in ("replace", "unlink"):
                do = getattr(Path, name)

                def step(*arguments: object, do: object = do, **options: object) -> object:
                    if next(steps) == number:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return do(*arguments, **options)  # type: ignore[operator]

                setattr(Path, name, step)
            NumberedFiles(folder, GROUP).add(3 * GROUP, line(3 * GROUP))

        whole = finished(in_child(dying))
        files = NumberedFiles(folder, GROUP)
        expected = [line(n) for n in range(3 * GROUP + 1)]
        found = list(files.after(0))
        assert found == expected[: len(found)]
        assert len(found) >= 3 * GROUP, "what was there before is there"
        files.compact()
        assert list(NumberedFiles(folder, GROUP).after(0)) == found
        if whole:
            break
    assert number > GROUP


def test_a_run_resumes_from_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log and reports in groups of two: the answer is the same, and a start reads what was put away."""
    monkeypatch.setattr(numbered.NumberedFiles.__init__, "__defaults__", (2,))
    small = Small.make(tmp_path / "small", files=6)
    with pytest.raises(Stop):
        small.run(watch=stop_after(6))
    assert (small.checkpoint / "log" / "group-0000000000.jsonl").exists()
    small.run()
    assert len(list((small.checkpoint / "progress").glob("group-*"))) >= 2
    assert [epoch.number for epoch in small.log()] == list(range(10))
    assert Checkpoint(small.checkpoint).log.has_end
    assert [report.epoch for report in Checkpoint(small.checkpoint).reports(0)] == list(range(10))
    monkeypatch.undo()
    assert small.output() == undisturbed(tmp_path / "undisturbed", files=6)
