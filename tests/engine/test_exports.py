"""One application exports a stream, another imports it."""

from __future__ import annotations

from pathlib import Path

import pytest

import thalweg as tw
from thalweg.errors import GraphError


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
    assert tw.run(importing(), engine="local").tuples() == []


def test_another_type_is_refused() -> None:
    tw.run(exporting(), engine="local")

    class Other(tw.Tuple):
        i: str

    with pytest.raises(GraphError, match="another type") as caught:
        tw.App("wrong").imported("even", Other)
    assert (caught.value.expected, caught.value.found) == ("i: int, x: float", "i: str")


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(GraphError, match="bad name of an export"):
        tw.App("bad").imported(name, Point)
