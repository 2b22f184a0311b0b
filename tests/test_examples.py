"""The examples give what independent implementations give, run by themselves, and use the public interface only."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
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
FILES = sorted(file for file in EXAMPLES.rglob("*.py") if "data" not in file.parts)
APPLICATIONS = [file for file in FILES if "\napp = tw.App(" in file.read_text()]


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


@pytest.mark.parametrize("example", FILES, ids=lambda file: file.stem)
def test_every_example_has_a_docstring(example: Path) -> None:
    text = ast.get_docstring(ast.parse(example.read_text()))
    assert text is not None
    if example in APPLICATIONS and example.parent == EXAMPLES:
        assert f"thalweg run examples/{example.name}" in text


@pytest.mark.parametrize("example", FILES, ids=lambda file: file.stem)
def test_examples_use_the_public_interface_only(example: Path) -> None:
    for node in ast.walk(ast.parse(example.read_text())):
        if isinstance(node, ast.Import):
            assert all(name.name == "thalweg" or not name.name.startswith("thalweg.") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "thalweg":
            assert node.module in ("thalweg", "thalweg.testing")
            assert {name.name for name in node.names} <= {*dir(tw), "testing"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as in a fresh clone, without data."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("data", "__pycache__"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("example", APPLICATIONS, ids=lambda file: file.stem)
def test_each_application_runs_by_itself(clone: Path, example: Path) -> None:
    command = ["run", str(example.relative_to(EXAMPLES.parent)), "--engine", "local"]
    done = _python(clone, "-m", "thalweg.cli.main", *command)
    assert done.stdout.startswith(f"application {example.stem}: ")
    assert re.search(r"; out: .*[1-9]", done.stdout)
    assert str(clone) not in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("check", sorted(EXAMPLES.glob("check_*.py")), ids=lambda file: file.stem)
def test_each_check_runs_by_itself(clone: Path, check: Path) -> None:
    assert " agree with " in _python(clone, f"examples/{check.name}").stdout


@pytest.mark.slow
@pytest.mark.parametrize("make", sorted(EXAMPLES.glob("make_*.py")), ids=lambda file: file.stem)
def test_each_input_is_made(clone: Path, tmp_path: Path, make: Path) -> None:
    _python(clone, f"examples/{make.name}", str(tmp_path))
    assert any(tmp_path.rglob("*-000.*"))


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_make_run_runs_what_a_user_would_type() -> None:
    recipe = (EXAMPLES.parent / "Makefile").read_text().partition("\nrun:")[2].partition("\n\n")[0]
    assert "\t$(BIN)/thalweg run examples/bargains.py" in recipe


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
