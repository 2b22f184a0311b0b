"""Files of every format with bad lines in them, and an application that reads them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import thalweg as tw


class Reading(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


class Typed(tw.Tuple):
    i: int
    amount: Decimal
    when: datetime


@dataclass(frozen=True, slots=True)
class Form:
    """How a file of this form is written. A bad row has `None` in its first attribute in tables."""

    format: str
    tuple_type: type[tw.Tuple]
    header: str
    good: Callable[[int], str]
    bad: Sequence[str]


def _amount(i: int) -> tuple[int, str, str]:
    return i, f"{i // 100}.{i % 100:02d}", (datetime(2024, 1, 1) + timedelta(seconds=i)).isoformat()


CSV_BAD = ("1,2", "one,1.0,a,true", "1,1.0,a,yes", ",1.0,a,true", "1,1.0,a,true,more")
JSON_BAD = ("nonsense", '{"i": 1, "x": 1.0, "s": "a"}', '{"i": "1", "x": 1.0, "s": "a", "b": true}', '{"i": 1, "x"')
FORMATS: dict[str, Form] = {
    "csv": Form("csv", Reading, "i,x,s,b\n", lambda i: f"{i},{i / 4},w{i % 20},true", CSV_BAD),
    "csv of other types": Form(
        "csv",
        Typed,
        "i,amount,when\n",
        lambda i: ",".join(map(str, _amount(i))),
        ("1,x,2024-05-06T07:08:09", "1,2.5,yesterday", "1,2", ",1,2024-05-06"),
    ),
    "jsonl": Form("jsonl", Reading, "", lambda i: f'{{"i": {i}, "x": {i / 4}, "s": "w{i % 20}", "b": true}}', JSON_BAD),
    "jsonl of other types": Form(
        "jsonl",
        Typed,
        "",
        lambda i: '{{"i": {}, "amount": {}, "when": "{}"}}'.format(*_amount(i)),
        ("nonsense", '{"i": 1, "amount": "x", "when": "2024-05-06"}', '{"i": 1, "amount": 1, "when": "yesterday"}'),
    ),
    "parquet": Form("parquet", Reading, "", str, ()),
    "arrow": Form("arrow", Reading, "", str, ()),
}


def write_lines(folder: Path, form: Form, count: int, share: float) -> None:
    folder.mkdir(parents=True)
    seeded = random.Random(7)
    if not form.bad:
        _write_table(folder, form.format, [None if seeded.random() < share else i for i in range(count)])
        return
    lines = (seeded.choice(form.bad) if seeded.random() < share else form.good(i) for i in range(count))
    (folder / f"a.{form.format}").write_text(form.header + "\n".join(lines) + "\n")


def _write_table(folder: Path, format: str, numbers: list[int | None]) -> None:
    count = len(numbers)
    columns: dict[str, Any] = {"i": numbers, "x": [0.5] * count, "s": ["w"] * count, "b": [True] * count}
    table = pa.table(columns, schema=pa.schema({"i": pa.int64(), "x": pa.float64(), "s": pa.string(), "b": pa.bool_()}))
    if format == "parquet":
        pq.write_table(table, folder / "a.parquet")
        return
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=100_000)


def file_application(folder: Path, form: Form, policy: str) -> tw.App:
    app = tw.App("reading")
    good = app.source(tw.files(folder, format=form.format, on_error=policy), form.tuple_type, name="good")
    good.sink(tw.none(), name="out")
    if policy == "dead_letter":
        good.dead_letters.sink(tw.none(), name="letters")
    return app
