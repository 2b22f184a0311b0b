"""The examples give what independent implementations give."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from pathlib import Path

import check_word_count
import pytest
from check_bargains import disagreement, expected_bargains
from check_sensor_query import expected_results, found_results
from make_lines import make_lines
from make_sensors import make_sensors
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


@pytest.mark.parametrize(("degree", "per_epoch"), [(1, 1_000_000), (3, 70)])
def test_word_count(tmp_path: Path, degree: int, per_epoch: int) -> None:
    shutil.copy(EXAMPLES / "word_count.py", tmp_path)
    make_lines(tmp_path / "data" / "lines", 300, files=3)
    result = run(_app(tmp_path / "word_count.py"), engine="local", degree=degree, max_tuples_per_epoch=per_epoch)
    assert result.tuples_in == 300
    assert result.tuples_out["top_of_chapters"] == 3 * 8
    assert (
        check_word_count.disagreement(result.tuples, check_word_count.expected_counts(tmp_path / "data/lines")) is None
    )


@pytest.mark.parametrize("per_epoch", [1_000_000, 100])
def test_sensor_query(tmp_path: Path, per_epoch: int) -> None:
    shutil.copy(EXAMPLES / "sensor_query.py", tmp_path)
    make_sensors(tmp_path / "data", readings=600, queries=80, files=2)
    result = run(_app(tmp_path / "sensor_query.py"), engine="local", max_tuples_per_epoch=per_epoch)
    found = found_results(result.tuples(), result.collected["found"].column_names)
    assert found == list(expected_results(tmp_path / "data", per_epoch))
    assert len(found) > 30


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_every_example_has_a_docstring(example: Path) -> None:
    text = ast.get_docstring(ast.parse(example.read_text()))
    assert text is not None
    if example.stem in ("word_count", "sensor_query"):
        assert f"thalweg run examples/{example.name}" in text


def _app(file: Path) -> tw.App:
    """As a program of the user's own would import it."""
    spec = importlib.util.spec_from_file_location(f"{file.stem}_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = module.app
    assert isinstance(app, tw.App)
    return app
