"""Names and functions are read from the user's file, whose syntax is walked once, however many operators it has."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

import thalweg as tw
from thalweg.ir.expr import text
from thalweg.ir.operators import Map

HEAD = """\
import thalweg as tw

class Number(tw.Tuple):
    x: int

app = tw.App("many")
made0 = app.source(tw.files("numbers"), Number)
"""
STEP = "made{new} = made{old}.map(lambda t: {{'x': t.x + {new}}})"
LONG_STEP = """\
made{new} = (
    made{old}
    .map(
        lambda t: {{
            'x': [(lambda y: y + {new})(t.x) for _ in range(1)][0],
        }},
        Number,
    )
)"""
FUNCTION = "def step{new}(t):\n    return {{'x': t.x + {new}}}\n\nmade{new} = made{old}.map(step{new})"


def app_of(tmp_path: Path, steps: list[str]) -> tw.App:
    file = tmp_path / "many.py"
    lines = [step.format(new=number, old=number - 1) for number, step in enumerate(steps, 1)]
    file.write_text(HEAD + "\n".join(lines) + "\n")
    found = runpy.run_path(str(file))["app"]
    assert isinstance(found, tw.App)
    return found


def test_each_operator_finds_its_own_name_and_function(tmp_path: Path) -> None:
    app = app_of(tmp_path, [STEP, LONG_STEP, FUNCTION] * 5)
    maps = [o for o in app._operators if isinstance(o, Map)]
    assert [o.name for o in maps] == [f"made{number}" for number in range(1, 16)]
    reasons = [o.function.opaque_because for o in maps]
    assert [reason is None for reason in reasons] == [True, False, True] * 5
    assert reasons[4] == "it uses `[(lambda y: y + 5)(t.x) for _ in range(1)]`"
    read = [text(o.function.expr) for o in maps if o.function.expr is not None]
    assert read == [f"{{x: (+ .x {number})}}" for number in range(1, 16) if number % 3 != 2]


def test_a_file_is_walked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was once for each operator without a name: 4,000 of them took a minute."""
    walked: list[ast.AST] = []
    walk = ast.walk

    def counted(node: ast.AST) -> object:
        walked.append(node)
        return walk(node)

    monkeypatch.setattr(ast, "walk", counted)
    app = app_of(tmp_path, [STEP, FUNCTION] * 50)
    assert len(app._operators) == 101
    assert len([node for node in walked if isinstance(node, ast.Module)]) == 1
