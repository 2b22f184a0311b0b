"""One application exports a stream, another imports it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import thalweg as tw
from tests.small import Stop, stop_after
from thalweg.api import run_plan
from thalweg.endpoints.files import FORMATS
from thalweg.engine.core.run import RunOptions
from thalweg.engine.storage.checkpoint import LocalState
from thalweg.errors import GraphError
from thalweg.optimize.passes import make_plan


class Point(tw.Tuple):
    i: int
    x: float


def exporting() -> tw.App:
    app = tw.App("exporting")
    points = app.source(tw.beacon(lambda i: {"i": i, "x": i / 4}, count=10), Point)
    points.filter(lambda p: p.i % 2 == 0).export("even")
    return app


def importing() -> tw.App:
    app = tw.App("importing")
    app.imported("even", Point).map(lambda p: {"double": p.x * 2}).sink(tw.collect())
    return app


@pytest.fixture(autouse=True)
def _exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_EXPORTS", str(tmp_path / "exports"))


def test_what_one_exports_the_other_imports() -> None:
    tw.run(exporting(), engine="local", max_tuples_per_epoch=4)
    assert tw.run(importing(), engine="local").tuples() == [(0.0,), (1.0,), (2.0,), (3.0,), (4.0,)]


def test_the_importer_may_come_first() -> None:
    with pytest.warns(tw.ThalwegWarning, match=r"imported read nothing: .* does not exist"):
        assert tw.run(importing(), engine="local").tuples() == []


@contextmanager
def killed_before_the_commit_of(epoch: int) -> Iterator[None]:
    """The sinks have this epoch, and the checkpoint does not know."""
    commit = LocalState.commit

    def dying(state: LocalState, number: int) -> None:
        if number == epoch:
            raise Stop
        commit(state, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalState, "commit", dying)
        with pytest.raises(Stop):
            yield


def test_the_importer_outlives_a_crash_of_the_exporter(tmp_path: Path) -> None:
    """The epoch is written again at the restart, and the importer has taken it."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with killed_before_the_commit_of(1):
        tw.run(exporting(), engine="local", checkpoint=theirs, max_tuples_per_epoch=4)
    with pytest.raises(Stop):
        run_plan(make_plan(importing().graph()), "local", RunOptions(ours), stop_after(0))
    tw.run(exporting(), engine="local", checkpoint=theirs, max_tuples_per_epoch=4)
    found = tw.run(importing(), engine="local", checkpoint=ours)
    assert found.tuples() == [(0.0,), (1.0,), (2.0,), (3.0,), (4.0,)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_replay_leaves_the_files_that_it_finds(tmp_path: Path, format: str) -> None:
    app = tw.App("writing")
    points = app.source(tw.beacon(lambda i: {"i": i, "x": i / 4}, count=10), Point)
    points.sink(tw.files(tmp_path / "out", format=format))
    with killed_before_the_commit_of(1):
        tw.run(app, engine="local", checkpoint=tmp_path / "checkpoint", max_tuples_per_epoch=4)
    before = {file: file.stat() for file in (tmp_path / "out").glob("epoch-*")}
    tw.run(app, engine="local", checkpoint=tmp_path / "checkpoint", max_tuples_per_epoch=4)
    assert len(before) == 2
    assert {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in before} == {
        file: (stat.st_ino, stat.st_mtime_ns) for file, stat in before.items()
    }


def test_a_different_type_is_refused() -> None:
    tw.run(exporting(), engine="local")

    class Other(tw.Tuple):
        i: str

    with pytest.raises(GraphError, match="has a different type") as caught:
        tw.App("wrong").imported("even", Other)
    assert (caught.value.expected, caught.value.found) == ("i: int, x: float", "i: str")


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(GraphError, match="bad export name"):
        tw.App("bad").imported(name, Point)
