"""The fault table of docs/faults.md names tests that exist."""

from __future__ import annotations

import ast
import re

from tests.docs.pages import DOCS

PAGE = (DOCS / "faults.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| fault ")]


def test_every_row_has_a_test_that_exists() -> None:
    assert len(ROWS) > 25
    for row in ROWS:
        fault, outcome, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        assert fault
        assert outcome
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", tests)
        assert named, row
        for file, name in named:
            path = DOCS.parent / file
            assert path.exists() == ("to come:" not in tests), f"{file}: {fault}"
            if path.exists():
                assert name in functions(path.read_text()), f"{file}::{name}: {fault}"


def functions(text: str) -> set[str]:
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def test_the_page_is_linked() -> None:
    readme = (DOCS.parent / "README.md").read_text()
    assert "docs/faults.md" in readme
    assert "docs/clusters.md" in readme
