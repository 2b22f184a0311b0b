"""The stub of `thalweg.agg`: type checkers and editors see every aggregate with its signature and docstring.

After a fold is added: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/lang/test_agg_stub.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thalweg.lang import agg
from thalweg.library.folds import CONSTRUCTORS

STUB = Path(agg.__file__).with_suffix(".pyi")
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"


def expected() -> str:
    named = {"thalweg.library.fold_terms": ["AggregateExpr"]}
    for name, constructor in CONSTRUCTORS.items():
        named.setdefault(constructor.__module__, []).append(name)
    lines = [f"from {module} import {name} as {name}" for module in sorted(named) for name in sorted(named[module])]
    return "\n".join(["# Generated from thalweg.library.folds by tests/lang/test_agg_stub.py.", *lines, ""])


def test_the_stub_has_every_fold() -> None:
    if UPDATE:
        STUB.write_text(expected())
    assert STUB.read_text() == expected(), "THALWEG_UPDATE_GOLDEN=1 writes the stub anew"


@pytest.mark.slow
def test_a_wrong_call_is_found_by_a_type_checker(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="mypy is not part of the environment of make test-lowest")
    user = tmp_path / "user.py"
    user.write_text('from thalweg import agg\n\nagg.sum("price")\nagg.quantile("price")\nagg.medien("price")\n')
    report, _, status = api.run(["--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(user)])
    found = [line.split("user.py:", 1)[1].split(":")[0] for line in report.splitlines() if "error:" in line]
    assert (found, status) == (["4", "5"], 1), report
