"""All attribute types in files: what comes in, what goes out, and what is said about values that do not fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.engine.test_splits import read
from tests.properties.strategies import cut_all
from tests.values import BERLIN, EAST, Point
from thalweg.api import run
from thalweg.errors import GraphError, InputError, OutputError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.types import TupleType
from thalweg.ir.values import carried
from thalweg.runtime.arrow_types import arrow_type
from thalweg.verify.compare import first_difference


class Flat(tw.Tuple):
    """What a CSV file can hold."""

    n: int
    data: bytes
    when: datetime
    day: date
    price: Decimal
    maybe_n: int | None
    maybe_x: float | None
    maybe_s: str | None
    maybe_b: bool | None
    maybe_day: date | None
    maybe_data: bytes | None
    s: str


class Deep(Flat):
    numbers: list[int | None]
    grid: list[list[float]]
    point: Point
    path: list[Point] | None


FULL = (1, b"\0\xff", datetime(2024, 2, 29, 1, 2, 3, 4), date(2024, 2, 29), Decimal("12.50"))
MAYBE = (2**63 - 1, -0.0, "é,\n", False, date.max, b"")
ROWS: Sequence[tuple[Any, ...]] = [
    (*FULL, *MAYBE, ""),
    (2, b"", datetime.min, date.min, Decimal("-0.000000000000000001"), None, None, None, None, None, None, "a"),
    (3, b"a", datetime.max, date.max, Decimal("0"), 0, float("inf"), "", True, date.min, b"\n", "nan"),
]
PARTS: Sequence[tuple[Any, ...]] = [
    ((1, None), ((0.5,), ()), (1.5, ("a", "b")), ((0.0, ()), (-0.0, ("",)))),
    ((), (), (0.0, ()), None),
    ((2**63 - 1,), ((), (1.0, 2.0)), (-1.0, ("é",)), ()),
]


class Copies:
    """An application that copies a source of one format to sinks of all formats that can hold the type."""

    def __init__(self, folder: Path, tuple_type: type[tw.Tuple], format: str, outputs: tuple[str, ...]) -> None:
        self.folder, self.tuple_type, self.outputs = folder, tuple_type, outputs
        self.app = tw.App("copies")
        stream = self.app.source(tw.files(folder / "in", format=format), tuple_type)
        for output in outputs:
            stream.sink(tw.files(folder / output, format=output), name=output)
        stream.sink(tw.collect(), name="kept")
        (folder / "in").mkdir()

    def run(self) -> dict[str, Sequence[tuple[Any, ...]]]:
        """What each sink's files hold when they are read again, and what the caller gets."""
        result = run(self.app, engine="local", max_tuples_per_epoch=2)
        found = {output: read_again(self.folder / output, self.tuple_type, output) for output in self.outputs}
        return found | {"kept": result.tuples()}


def source_graph(folder: Path, tuple_type: type[tw.Tuple], format: str) -> LogicalGraph:
    app = tw.App("again")
    app.source(tw.files(folder, format=format), tuple_type, name="s").sink(tw.collect())
    return app.graph()


def read_again(folder: Path, tuple_type: type[tw.Tuple], format: str) -> Sequence[tuple[Any, ...]]:
    graph = source_graph(folder, tuple_type, format)
    return [row[1:] for row in read(graph, cut_all(graph, 2), tuple_type.tuple_type.names)]


def as_table(rows: Sequence[tuple[Any, ...]], tuple_type: TupleType) -> pa.Table:
    def shown(value: Any, kind: Any) -> Any:
        if value is None:
            return None
        if kind.required.fields is not None:
            return {n: shown(v, k) for (n, k), v in zip(kind.required.fields.attributes, value, strict=True)}
        return [shown(v, kind.required.item) for v in value] if kind.required.item is not None else value

    columns = [
        pa.array([shown(v, kind) for v in values], arrow_type(kind))
        for (_, kind), values in zip(tuple_type.attributes, zip(*rows, strict=True), strict=True)
    ]
    return pa.table(columns, names=list(tuple_type.names))


def same_values(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> None:
    """The same but for the digits of Decimals, of which Parquet stores 18 after the decimal point."""

    def normal(value: Any) -> Any:
        if isinstance(value, Decimal):
            return value.normalize()
        return tuple(normal(v) for v in value) if isinstance(value, tuple) else value

    assert first_difference([normal(row) for row in expected], [normal(row) for row in found]) is None


def test_from_parquet_to_all_formats_and_back(tmp_path: Path) -> None:
    copies = Copies(tmp_path, Flat, "parquet", ("parquet", "jsonl", "csv"))
    pq.write_table(as_table(ROWS, Flat.tuple_type), tmp_path / "in" / "a.parquet", row_group_size=2)
    for rows in copies.run().values():
        same_values(rows, ROWS)


def test_lists_and_nested_tuples(tmp_path: Path) -> None:
    rows = [a + b for a, b in zip(ROWS, PARTS, strict=True)]
    copies = Copies(tmp_path, Deep, "parquet", ("parquet", "jsonl"))
    pq.write_table(as_table(rows, Deep.tuple_type), tmp_path / "in" / "a.parquet", row_group_size=2)
    found = copies.run()
    for kept in found.values():
        same_values([carried(row) for row in kept], rows)
    first = found["kept"][0]
    assert isinstance(first[-2], Point), "the caller gets tuples of the user's classes"
    assert first[-1] == [Point(0.0, []), Point(-0.0, [""])]


def test_json_lines_are_readable(tmp_path: Path) -> None:
    copies = Copies(tmp_path, Deep, "parquet", ("jsonl",))
    rows = [a + b for a, b in zip(ROWS, PARTS, strict=True)]
    pq.write_table(as_table(rows[:1], Deep.tuple_type), tmp_path / "in" / "a.parquet")
    copies.run()
    (line,) = (tmp_path / "jsonl" / "epoch-0000000000.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "n": 1,
        "data": "AP8=",
        "when": "2024-02-29T01:02:03.000004",
        "day": "2024-02-29",
        "price": "12.500000000000000000",
        "maybe_n": 2**63 - 1,
        "maybe_x": 0.0,
        "maybe_s": "é,\n",
        "maybe_b": False,
        "maybe_day": "9999-12-31",
        "maybe_data": "",
        "s": "",
        "numbers": [1, None],
        "grid": [[0.5], []],
        "point": {"x": 1.5, "tags": ["a", "b"]},
        "path": [{"x": 0.0, "tags": []}, {"x": 0.0, "tags": [""]}],
    }


class When(tw.Tuple):
    when: datetime


ZONED = [datetime(2024, 7, 1, 2, tzinfo=BERLIN), datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=EAST)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+05:30"])
def test_timestamps_with_a_zone_are_instants_in_utc(tmp_path: Path, unit: str, zone: str) -> None:
    pq.write_table(pa.table({"when": pa.array(ZONED, pa.timestamp(unit, zone))}), tmp_path / "a.parquet")
    found = [when for (when,) in read_again(tmp_path, When, "parquet")]
    assert found == ZONED
    assert [when.tzinfo for when in found] == [UTC] * 3


def test_what_files_make_of_zones(tmp_path: Path) -> None:
    """Text keeps the offset; Parquet's column has no zone, so the instant is written as UTC. Collect keeps all."""
    (tmp_path / "work").mkdir()
    copies = Copies(tmp_path / "work", When, "jsonl", ("parquet", "jsonl", "csv"))
    lines = [json.dumps({"when": when.isoformat()}) for when in ZONED]
    (tmp_path / "work" / "in" / "a.jsonl").write_text("\n".join(lines))
    found = copies.run()
    assert [when.utcoffset() for (when,) in found["jsonl"]] == [when.utcoffset() for when in ZONED]
    for name in ("jsonl", "csv", "kept"):
        assert [when for (when,) in found[name]] == ZONED
    assert [when for (when,) in found["parquet"]] == [when.astimezone(UTC).replace(tzinfo=None) for when in ZONED]


def test_csv_tells_nothing_from_an_empty_string(tmp_path: Path) -> None:
    class Two(tw.Tuple):
        a: str | None
        b: str

    (tmp_path / "a.csv").write_text('a,b\n,\n"",""\nx,NA\n')
    assert read_again(tmp_path, Two, "csv") == [(None, ""), ("", ""), ("x", "NA")]


class Money(tw.Tuple):
    d: Decimal
    maybe: Decimal | None


def test_decimals_of_text_files_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d,maybe\n1.50,\n-0,1E+3\nNaN,Infinity\n")
    rows = [("1.50", "None"), ("-0", "1E+3"), ("NaN", "Infinity")]
    assert [(str(d), str(m)) for d, m in read_again(tmp_path, Money, "csv")] == rows
    (tmp_path / "a.jsonl").write_text('{"d": 1.50}\n\n{"d": 12345678901234567890.1, "maybe": "1.0"}\n{"d": 7}\n')
    rows = [("1.50", "None"), ("12345678901234567890.1", "1.0"), ("7", "None")]
    assert [(str(d), str(m)) for d, m in read_again(tmp_path, Money, "jsonl")] == rows


# What pyarrow can write.
NARROW = [pa.decimal32(5, 2), pa.decimal64(10, 2)] if int(pa.__version__.split(".")[0]) >= 22 else []


@pytest.mark.parametrize("kind", [*NARROW, pa.decimal128(38, 2), pa.decimal256(50, 2)])
def test_decimals_of_parquet_have_the_scale_of_the_file(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"d": pa.array([Decimal("1.5")], kind), "maybe": pa.array([None], kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert [(str(d), m) for d, m in read_again(tmp_path, Money, "parquet")] == [("1.50", None)]


class Mixed(tw.Tuple):
    n: int
    numbers: list[int]
    point: Point | None
    when: datetime | None
    data: bytes | None
    day: date | None


GOOD: dict[str, pa.Array] = {
    "n": pa.array([1, 2]),
    "numbers": pa.array([[1], []], pa.list_(pa.int64())),
    "point": pa.array([{"x": 1.0, "tags": ["a"]}, None]),
    "when": pa.array([datetime(2024, 1, 1), None]),
    "data": pa.array([b"a", None]),
    "day": pa.array([None, date(2024, 1, 1)]),
}
STRUCT = pa.struct([("tags", pa.list_(pa.string())), ("more", pa.int8()), ("x", pa.float32())])


@pytest.mark.parametrize(
    ("name", "array", "expected"),
    [
        ("numbers", pa.array([[1, 2], [3]], pa.large_list(pa.int8())), [(1, 2), (3,)]),
        ("numbers", pa.array([[1, 2], [3, 4]], pa.list_(pa.uint64(), 2)), [(1, 2), (3, 4)]),
        ("numbers", pa.array([[0], [1, 2], [3]]).slice(1), [(1, 2), (3,)]),
        ("point", pa.array([{"tags": [], "more": 1, "x": 0.5}, None], STRUCT), [(0.5, ()), None]),
        ("data", pa.array([b"ab", b"cd"], pa.binary(2)), [b"ab", b"cd"]),
        ("data", pa.array([b"ab", None], pa.large_binary()), [b"ab", None]),
        ("day", pa.array([date(2024, 1, 1), None], pa.date64()), [date(2024, 1, 1), None]),
        ("when", pa.array([0, 1], pa.timestamp("ms")), [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1000)]),
    ],
)
def test_types_that_fit(tmp_path: Path, name: str, array: pa.Array, expected: list[Any]) -> None:
    pq.write_table(pa.table(GOOD | {name: array}), tmp_path / "a.parquet")
    column = Mixed.tuple_type.names.index(name)
    assert [row[column] for row in read_again(tmp_path, Mixed, "parquet")] == expected


def reader_error(folder: Path, tuple_type: type[tw.Tuple], format: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_again(folder, tuple_type, format)
    assert caught.value.operator == "s"
    return caught.value


@pytest.mark.parametrize(
    ("name", "array", "expected", "found"),
    [
        ("numbers", pa.array([[1], None], pa.list_(pa.int64())), "list[int] in every row", "nothing in row 1"),
        ("numbers", pa.array([[1], [2, None]], pa.list_(pa.int64())), "int in every row", "nothing in row 1"),
        ("numbers", pa.array([1, 2]), "list[int]", "int64"),
        ("numbers", pa.array([["a"], []]), "int", "string"),
        ("numbers", pa.array([[1], [2**63]], pa.list_(pa.uint64())), "int", "in row 1"),
        ("point", pa.array([{"x": 1.0}, None]), "Point(x: float, tags: list[str])", "struct<x: double>"),
        ("point", pa.array([{"x": None, "tags": ["a"]}, None], STRUCT), "float in every row", "nothing in row 0"),
        ("point", pa.array([1, 2]), "Point", "int64"),
        ("when", pa.array([date(2024, 1, 1), None]), "datetime", "date32[day]"),
        ("when", pa.array([1, 2**62], pa.timestamp("us")), "datetime", "in row 1"),
        ("when", pa.array([1000, 1001], pa.timestamp("ns")), "datetime", "would lose data"),
        ("day", pa.array([datetime(2024, 1, 1), None]), "date", "timestamp[us]"),
        ("day", pa.array([2**30, None], pa.int32()).cast(pa.date32()), "date", "in row 0"),
        ("data", pa.array(["a", "b"]), "bytes", "string"),
    ],
)
def test_types_that_do_not_fit(tmp_path: Path, name: str, array: pa.Array, expected: str, found: str) -> None:
    pq.write_table(pa.table(GOOD | {name: array}), tmp_path / "a.parquet")
    error = reader_error(tmp_path, Mixed, "parquet")
    assert error.message.startswith(f"attribute {name} does not fit")
    assert error.expected == expected
    assert found in str(error.found)


def test_the_row_is_that_of_the_file(tmp_path: Path) -> None:
    """Also in a later epoch."""
    pq.write_table(pa.table({"when": pa.array([datetime(2024, 1, 1)] * 5 + [None])}), tmp_path / "a.parquet")
    assert reader_error(tmp_path, When, "parquet").found == "nothing in row 5"


@pytest.mark.parametrize(
    ("format", "content", "expected", "found"),
    [
        ("csv", "d,maybe\n1,1\nx,\n", "Decimal", "'x' in row 1, line 3"),
        ("csv", "d,maybe\n,1\n", "Decimal in every row", "nothing in row 0, line 2"),
        ("csv", "d,maybe\n1,sNaN\n", "Decimal | None", "'sNaN' in row 0, line 2"),
        ("csv", "maybe\n1\n", "Decimal", "a file with maybe"),
        ("jsonl", '{"d": true}', "Decimal", "True in row 0, line 1"),
        ("jsonl", '{"d": 1}\n{}', "Decimal in every row", "nothing (the line has no attribute) in row 1, line 2"),
        ("jsonl", '{"d": ["1"]}', "Decimal", "['1'] in row 0, line 1"),
    ],
)
def test_text_that_does_not_fit(tmp_path: Path, format: str, content: str, expected: str, found: str) -> None:
    (tmp_path / f"a.{format}").write_text(content)
    error = reader_error(tmp_path, Money, format)
    assert error.expected == expected
    assert error.found == found


@pytest.mark.parametrize(
    ("line", "expected", "found"),
    [
        ('{"n": 1.0, "numbers": []}', "int", "1.0 in row 0, line 1"),
        ('{"n": 1, "numbers": [1, "a"]}', "int", "'a' at numbers[1] in row 0, line 1"),
        ('{"n": 1, "numbers": [1, null]}', "int in every row", "nothing at numbers[1] in row 0, line 1"),
        ('{"n": 1, "numbers": 3}', "list[int]", "3 in row 0, line 1"),
        (
            '{"n": 1, "numbers": [], "point": {"x": 1}}',
            "list[str] in every row",
            "nothing at point.tags in row 0, line 1",
        ),
        ('{"n": 1, "numbers": [], "point": {"x": 1, "tags": ["a", 2]}}', "str", "2 at point.tags[1] in row 0, line 1"),
        ('{"n": 1, "numbers": [], "when": "noon"}', "datetime | None", "'noon' in row 0, line 1"),
        ('{"n": 1, "numbers": [], "data": "é"}', "bytes | None", "'é' in row 0, line 1"),
        ('{"n": 9223372036854775808, "numbers": []}', "int", "9223372036854775808 in row 0, line 1"),
    ],
)
def test_json_names_the_part_that_does_not_fit(tmp_path: Path, line: str, expected: str, found: str) -> None:
    (tmp_path / "a.jsonl").write_text(line)
    error = reader_error(tmp_path, Mixed, "jsonl")
    assert (error.expected, error.found) == (expected, found)


@pytest.mark.parametrize(
    ("content", "found"), [('{"d": 1', "in row 0, line 1"), ('{"d": 1}\n[1]', "[1] in row 1, line 2")]
)
def test_lines_that_are_not_objects(tmp_path: Path, content: str, found: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(InputError, match="cannot be read as jsonl") as caught:
        read_again(tmp_path, Money, "jsonl")
    assert found in str(caught.value.found)


@pytest.mark.parametrize("text", ["1E+21", "1E-19", "NaN", "Infinity"])
def test_a_decimal_that_parquet_cannot_hold(tmp_path: Path, text: str) -> None:
    """The epoch is not committed; what came before stays."""
    copies = Copies(tmp_path, Money, "csv", ("parquet",))
    (tmp_path / "in" / "a.csv").write_text(f"d,maybe\n1,2\n3,4\n5,\n6,{text}\n")
    with pytest.raises(OutputError, match="attribute maybe does not fit") as caught:
        copies.run()
    assert caught.value.expected == "a value that fits decimal128(38, 18)"
    assert f"Decimal('{text}') in row 1 of the epoch" in str(caught.value.found)
    assert [p.name for p in (tmp_path / "parquet").glob("epoch*")] == ["epoch-0000000000.parquet"]


def test_an_instant_before_the_first_year_in_utc(tmp_path: Path) -> None:
    copies = Copies(tmp_path, When, "csv", ("parquet",))
    (tmp_path / "in" / "a.csv").write_text("when\n0001-01-01T00:00:00+14:00\n")
    with pytest.raises(OutputError, match="attribute when does not fit"):
        copies.run()
    assert datetime.min.replace(tzinfo=EAST).utcoffset() == timedelta(hours=14)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: tw.App("a").source(tw.files("y"), Mixed).sink(tw.files("x", format="csv")),
        lambda: tw.App("a").source(tw.files("x", format="csv"), Mixed),
    ],
)
def test_csv_holds_no_parts(mistake: Any) -> None:
    with pytest.raises(GraphError, match=r"csv cannot hold numbers: list\[int\]") as caught:
        mistake()
    assert "parquet" in str(caught.value.hint)
    assert caught.value.where is not None


def test_csv_cannot_tell_an_empty_line_from_a_missing_value() -> None:
    class Alone(tw.Tuple):
        n: int | None

    with pytest.raises(GraphError, match="csv cannot hold"):
        tw.App("a").source(tw.files("y"), Alone).sink(tw.files("x", format="csv"))


def test_one_line_one_row(tmp_path: Path) -> None:
    """Arrow's JSON reader takes two objects in one line; the log counts lines."""

    class N(tw.Tuple):
        n: int

    (tmp_path / "a.jsonl").write_text('{"n": 1} {"n": 2}\n')
    with pytest.raises(InputError, match="cannot be read as jsonl") as caught:
        read_again(tmp_path, N, "jsonl")
    assert caught.value.found == '{"n": 1} {"n": 2} (Extra data, column 10) in row 0, line 1'
