"""The examples on Spark: one run each, against independent implementations."""

from __future__ import annotations

import shutil
from pathlib import Path

import check_word_count
import pytest
from check_bargains import disagreement, expected_bargains
from check_sensor_query import expected_results, found_results
from make_lines import make_lines
from make_sensors import make_sensors
from make_ticks import make_ticks

from thalweg.api import run
from thalweg.cli.find_app import load_app

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_bargains(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "bargains.py", tmp_path)
    make_ticks(tmp_path / "data" / "ticks", 20_000, files=2, symbols=100)
    result = run(load_app(str(tmp_path / "bargains.py")), degree=2, max_tuples_per_epoch=9_000)
    assert result.tuples_in == 20_000
    assert disagreement(result.tuples(), expected_bargains(tmp_path / "data" / "ticks")) is None


def test_word_count(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "word_count.py", tmp_path)
    make_lines(tmp_path / "data" / "lines", 300, files=2)
    result = run(load_app(str(tmp_path / "word_count.py")), degree=2, max_tuples_per_epoch=200)
    assert result.tuples_in == 300
    expected = check_word_count.expected_counts(tmp_path / "data" / "lines")
    assert check_word_count.disagreement(result.tuples, expected) is None


def test_sensor_query(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "sensor_query.py", tmp_path)
    make_sensors(tmp_path / "data", readings=300, queries=40)
    result = run(load_app(str(tmp_path / "sensor_query.py")), degree=2, max_tuples_per_epoch=400)
    found = found_results(result.tuples(), result.collected["found"].column_names)
    assert found == list(expected_results(tmp_path / "data", 400))
    assert len(found) > 50
