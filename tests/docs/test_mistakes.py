"""Every mistake of docs/mistakes.md prints what the page shows, whole.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/docs, then read the diff.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Example, headings, read_page
from thalweg.cli.main import main

PAGE = read_page("mistakes.md")
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"


def printed(folder: Path, example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `thalweg run` prints as an error, files named as from the folder of the application."""
    PAGE.write_inputs(folder)
    file = folder / "app.py"
    file.write_text(f"{PAGE.prelude}{example.code}")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["thalweg", "run", "app.py", "--engine", "local"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("example", PAGE.examples, ids=lambda e: e.name)
def test_mistake(
    tmp_path: Path, example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(tmp_path, example, monkeypatch, capsys)
    assert found == example.output
    kind = found.partition(":")[0]
    assert kind in ("graph error", "input error", "tuple error")
    if kind != "input error":
        assert re.search(r"app\.py:\d+\)", found), "the error has a location"


@pytest.mark.skipif(not UPDATE, reason="writes the messages of the page anew")
def test_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {}
    for number, example in enumerate(PAGE.examples):
        (tmp_path / str(number)).mkdir()
        outputs[example.name] = printed(tmp_path / str(number), example, monkeypatch, capsys)
    PAGE.file.write_text(PAGE.with_outputs(outputs))


def test_the_table_lists_them_all() -> None:
    listed = re.findall(r"^\| \[[^]]*\]\(#([^)]*)\)", PAGE.text, re.MULTILINE)
    titles = [
        h for h in headings(PAGE.text.partition("## In the program")[2]) if h not in ("in-the-input", "at-a-tuple")
    ]
    assert listed == titles
    assert len(listed) == len(PAGE.examples) >= 20


def test_the_prelude_ends_where_the_page_shows() -> None:
    assert f"its last line is line {PAGE.prelude.count(chr(10))}" in PAGE.text
