"""The README's example is run, and its output must be the one shown there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli.main import cli

pytestmark = pytest.mark.slow

README = (Path(__file__).parent.parent / "README.md").read_text()


def block(label: str) -> str:
    """The fenced block after the comment with this label."""
    found = re.search(rf"<!-- {re.escape(label)} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found is not None, label
    return found.group(1)


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "hot.py").write_text(block("example: hot.py"))
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "monday.csv").write_text(block("input: readings/monday.csv"))
    command = [sys.executable, "-m", "thalweg.cli.main", "run", "hot.py", "--degree", "2", "--engine", "local"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(block("output: thalweg run hot.py --degree 2"))
    assert done.stdout.endswith(block("output: result"))
    assert done.stderr == ""


def test_the_commands_of_the_readme_exist() -> None:
    for command in re.findall(r"^\| `thalweg (\w+)", README, re.MULTILINE):
        assert "Examples:" in CliRunner().invoke(cli, [command, "--help"]).stdout
    makefile = (Path(__file__).parent.parent / "Makefile").read_text()
    for target in re.findall(r"`?make ([\w-]+)", README):
        assert f"\n{target}:" in makefile, target
