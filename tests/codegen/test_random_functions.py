"""Random functions, written as source text and imported: the kernel gives what calling the function gives."""

from __future__ import annotations

import importlib.util
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import thalweg as tw
from tests.amount import EXPLORE, share
from tests.codegen.kernels import VALUES, kernel_values
from tests.codegen.random_functions import modules
from thalweg.errors import Where
from thalweg.ir.expr import Record, can_fall_back, reads, text
from thalweg.ir.types import conform
from thalweg.lang.read_function import read_function
from thalweg.runtime.columns import Column, from_values
from thalweg.verify.compare import same_bits

SEEN: Counter[str] = Counter()
NUMBERS = itertools.count()
WANTED = ("read", "answered", "fell back", "raised", "answered row")
_CALM: dict[str, tuple[Any, ...]] = {"n": (0, 1, 2, -1, 3), "m": (5, 1, 4), "y": (0.5, 0.1, -2.0, 7.0), "k": ("a", "b")}


class Row(tw.Tuple):
    a: int
    n: int
    m: int
    x: float
    y: float
    s: str
    k: str
    p: bool
    q: bool


def some_rows() -> list[Row]:
    chosen = random.Random(5)
    kinds = Row.tuple_type.attributes
    return [Row(*(chosen.choice(_CALM.get(n, VALUES[kind])) for n, kind in kinds)) for _ in range(24)]


ROWS = some_rows()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="thalweg-functions-") as name:
        yield Path(name)


def imported(folder: Path, source: str) -> Callable[[Any], Any]:
    file = folder / f"module{next(NUMBERS)}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[Any], Any] = module.f
    return function


@settings(
    max_examples=share(4),
    deadline=None,
    derandomize=not EXPLORE,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(modules())
def test_the_kernel_gives_what_the_function_gives(folder: Path, source: str) -> None:
    function = imported(folder, source)
    found = read_function(function, Row.tuple_type, Where("random", 1))
    SEEN["functions"] += 1
    if found.expr is None:
        SEEN["opaque"] += 1
        return
    SEEN["read"] += 1
    fields = dict(found.expr.fields) if isinstance(found.expr, Record) else {"": found.expr}

    def called(function: Callable[[Any], Any], row: Row) -> dict[str, Any] | Exception:
        try:
            result = function(row)
            values = result if isinstance(found.expr, Record) else {"": result}
            return {name: conform(values[name], expr.type) for name, expr in fields.items()}
        except Exception as error:
            return error

    expected = [called(function, row) for row in ROWS]
    for rows in (range(len(ROWS)), *([i] for i in range(len(ROWS)))):
        columns: dict[str, Column] = {
            name: from_values([getattr(ROWS[i], name) for i in rows], kind) for name, kind in Row.tuple_type.attributes
        }
        # Only the attributes that the expression reads: the others do not exist when it runs.
        columns = {name: column for name, column in columns.items() if name in reads(found.expr)}
        answers = {name: kernel_values(expr, columns, len(rows)) for name, expr in fields.items()}
        if any(answer is None for answer in answers.values()):
            SEEN["fell back"] += 1
            assert can_fall_back(found.expr), text(found.expr)
            continue
        SEEN["answered" if len(rows) > 1 else "answered row"] += 1
        for place, i in enumerate(rows):
            wanted = expected[i]
            assert not isinstance(wanted, Exception), f"{wanted!r} at {ROWS[i]}, the kernel gives {answers}"
            for name, answer in answers.items():
                assert answer is not None
                assert same_bits(wanted[name], answer[place]), f"{ROWS[i]}: {wanted[name]!r}, kernel {answer[place]!r}"
    SEEN["raised"] += sum(isinstance(e, Exception) for e in expected)
    frozen = [called(found.callable, row) for row in ROWS]
    assert list(map(repr, frozen)) == list(map(repr, expected)), "the frozen function is another one"


def test_the_functions_were_worth_it() -> None:
    """Runs last: functions that are all opaque, or always fall back, would test nothing."""
    if SEEN["functions"] < 300:
        pytest.skip("too few functions ran to judge their reach")
    assert SEEN["read"] > 0.6 * SEEN["functions"], SEEN
    assert SEEN["answered row"] > 5 * SEEN["functions"], SEEN
    assert all(SEEN[name] > 30 for name in WANTED), SEEN
