"""The examples give what independent implementations give."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from check_bargains import disagreement, expected_bargains
from make_ticks import make_ticks

import thalweg as tw
from thalweg.api import run

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("degree", [1, 3])
def test_bargains(tmp_path: Path, degree: int) -> None:
    shutil.copy(EXAMPLES / "bargains.py", tmp_path)
    make_ticks(tmp_path / "data" / "ticks", 20_000, files=3, symbols=100)
    result = run(_app(tmp_path / "bargains.py"), engine="local", degree=degree, max_tuples_per_epoch=7_000)
    assert result.epochs == 4
    assert result.tuples_in == 20_000
    assert disagreement(result.tuples(), expected_bargains(tmp_path / "data" / "ticks")) is None


def _app(file: Path) -> tw.App:
    """As a program of the user's own would import it."""
    spec = importlib.util.spec_from_file_location(f"bargains_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = module.app
    assert isinstance(app, tw.App)
    return app
