"""Warnings: one way to emit them; they are shown, and kept with the result."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import thalweg as tw
from thalweg.errors import ThalwegWarning, hide, kept_warnings, warn


class Row(tw.Tuple):
    i: int


def test_a_warning_is_a_python_warning_and_is_kept() -> None:
    with kept_warnings() as kept, pytest.warns(ThalwegWarning, match="first"):
        warn("first")
    with pytest.warns(ThalwegWarning, match="second"):
        warn("second")
    assert kept == ["first"]


def test_a_secret_is_hidden() -> None:
    hide("rosebud-17")
    with kept_warnings() as kept, pytest.warns(ThalwegWarning, match=r"the password is \*\*\*"):
        warn("the password is rosebud-17")
    assert kept == ["the password is ***"]


def test_a_warning_points_to_the_users_line(tmp_path: Path) -> None:
    app = tw.App("warned")
    app.source(tw.files(tmp_path, format="jsonl"), Row).sink(tw.collect(), name="out")
    with pytest.warns(ThalwegWarning) as caught:
        tw.run(app, engine="local", balance=True, checkpoint=tmp_path / "state")
    assert len(caught) > 1  # from planning, and from the end of the run
    assert {one.filename for one in caught} == {__file__}


def test_tw_run_returns_them_even_if_python_ignores_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"i": 1}\n')
    app = tw.App("warned")
    app.source(tw.files(tmp_path, format="jsonl"), Row).sink(tw.collect(), name="out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThalwegWarning)
        done = tw.run(app, engine="local", balance=True)
    assert done.tuples() == [(1,)]
    assert done.warnings == ("--balance has no effect: with --degree 1 all keys are on one channel",)


def test_all_of_thalweg_warns_this_way() -> None:
    package = Path(tw.__file__).parent
    users = {str(file.relative_to(package)) for file in package.rglob("*.py") if "warnings.warn(" in file.read_text()}
    assert users == {"errors.py"}
