"""Folds that only Python can do: the least and greatest string, date, Decimal …, and sums of Decimals."""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.library.window_join import Band
from thalweg.optimize.passes import make_plan


class Item(tw.Tuple):
    k: str
    s: str
    day: date
    d: Decimal
    x: float


TEXTS = ("b", "", "é", "ab", "\0", "B")
ROWS = [
    {
        "k": "uvw"[n % 3],
        "s": TEXTS[n * 7 % 6],
        "day": f"2024-02-{1 + n * 5 % 28:02d}",
        "d": f"{n}.{n % 10}0",
        "x": n / 2,
    }
    for n in range(40)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def answer(folder: Path, over: Any, **fields: Any) -> list[tuple[Any, ...]]:
    """What the sink gets, which must be the same under all plans."""
    app = tw.App("folds")
    items = app.source(tw.files(folder, format="jsonl"), Item)
    items.aggregate(over, name="folds", **fields).sink(tw.collect(), name="out")
    graph = app.graph()
    epochs = cut_all(graph, 11)
    expected = run_reference(graph, epochs)
    for degree, frame_rows in ((1, 1000), (3, 1), (2, 4)):
        found = run_local(make_plan(graph, degree=degree, buckets=5, frame_rows=frame_rows), epochs, through_bytes=True)
        assert difference(expected, found) is None
    assert expected.error is None
    return expected.answer["out"]


@pytest.mark.parametrize("over", [window.running(by="k"), window.sliding(count=3, by="k")])
def test_the_least_and_the_greatest(folder: Path, over: Any) -> None:
    names = ("s", "day", "d")
    folds = {f"{kind}_{n}": getattr(agg, kind)(n) for kind in ("min", "max") for n in names}
    rows = answer(folder, over, k=agg.any("k"), x=agg.sum("x"), **folds)
    typed = {"s": str, "day": date.fromisoformat, "d": Decimal}
    size = 3 if "sliding" in str(over) else len(ROWS)
    for number, (k, _, *found) in enumerate(rows):
        assert k == ROWS[number]["k"]
        seen = [row for row in ROWS[: number + 1] if row["k"] == k][-size:]
        values = {n: [typed[n](row[n]) for row in seen] for n in names}  # type: ignore[operator]
        assert found == [*(min(values[n]) for n in names), *(max(values[n]) for n in names)]


OVER_ALL = (
    window.running(),
    window.tumbling(count=40),
    window.sliding(count=40, slide=40),
    window.tumbling(delta=Decimal("39.95"), on="d"),
    window.sliding(delta=Decimal("39.95"), on="d", slide=40),
)


@contextmanager
def coarse_decimals() -> Iterator[None]:
    with decimal.localcontext() as context:
        context.prec = 2
        context.rounding = decimal.ROUND_UP
        yield


@pytest.mark.parametrize("over", OVER_ALL, ids=str)
@pytest.mark.parametrize("more", [{}, {"far": agg.std("x")}], ids=["kernel", "in Python"])
def test_sums_of_decimals_do_not_depend_on_the_threads_context(folder: Path, over: Any, more: Any) -> None:
    with coarse_decimals():
        rows = answer(folder, over, total=agg.sum("d"), **more)
    assert rows[-1][0] == sum(Decimal(str(row["d"])) for row in ROWS)
    assert str(rows[-1][0]) == "798.00"


def test_sums_of_decimals_have_38_digits_in_every_window(tmp_path: Path) -> None:
    values = ["1", "3E-37", "5E-38", "1E-29"]
    rows = [{"k": "", "s": "", "day": "2024-01-01", "d": d, "x": 0.0} for d in values]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (kernel,) = answer(tmp_path, window.tumbling(count=4), total=agg.sum("d"))
    (python, _) = answer(tmp_path, window.tumbling(count=4), total=agg.sum("d"), far=agg.std("x"))[0]
    assert str(kernel[0]) == str(python) == "1.0000000000000000000000000000100000004"


def test_a_band_of_decimals_does_not_depend_on_the_threads_context() -> None:
    @dataclass
    class At:
        d: Decimal

    band = Band("d", "d", Decimal("0.00101"))
    with coarse_decimals():
        assert band(At(Decimal("10.000000")), At(Decimal("10.001005")))
        assert band(At(Decimal("10.001005")), At(Decimal("10.000000")))
        assert not band(At(Decimal("10.000000")), At(Decimal("10.001011")))
