"""Examples of docs/parameters.md and docs/language.md are run. (docs/testing.md: tests/test_testing.py.)"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.small import thalweg

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parent.parent / "docs"


def block(page: str, label: str) -> str:
    found = re.search(rf"<!-- {re.escape(label)} -->\n```\w*\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert found is not None, label
    return found.group(1)


def test_parameters(tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text(block("parameters.md", "file: limits.py"))
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "a.csv").write_text("sensor,celsius\nroof,36.0\ncellar,12.0\nroof,34.0\n")
    (tmp_path / "key.txt").write_text("open sesame\n")
    missing = thalweg("explain", "limits.py", cwd=tmp_path)
    assert missing.returncode == 1
    assert missing.stderr.replace(f"{tmp_path}/", "") == block("parameters.md", "output: thalweg explain limits.py")
    command = re.search(r"^thalweg (run limits.py .*)$", (DOCS / "parameters.md").read_text(), re.MULTILINE)
    assert command is not None
    done = thalweg(*command.group(1).split(), "--engine", "local", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan, *_, end = map(json.loads, done.stdout.splitlines())
    assert plan["params"] == {"limit": "35.0", "folder": "PosixPath('readings')", "key": "***"}
    assert end["tuples_out"] == {"sent": 1}


def test_composite(tmp_path: Path) -> None:
    head = (
        "import thalweg as tw\nfrom thalweg import agg, window\n\nclass Reading(tw.Tuple):\n    sensor: str\n"
        "    celsius: float\n\napp = tw.App('composite')\nreadings = app.source(tw.files('in'), Reading)\n"
    )
    text = head + block("language.md", "composite") + "hot.sink(tw.collect(), name='out')\n"
    (tmp_path / "composite_app.py").write_text(text)
    said = json.loads(thalweg("explain", "composite_app.py", "--json", cwd=tmp_path).stdout)
    assert [o["name"] for o in said["operators"]] == ["readings", "hot.mean", "hot.join", "hot.filter", "out"]
