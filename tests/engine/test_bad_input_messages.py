"""Bad rows under the default policy: the message names file, row, line and attribute, what was expected and what was
found, for every format and kind of fault, wherever the row is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.bad_files import Reading, csv_line, json_line
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.errors import InputError, ThalwegWarning
from thalweg.optimize.passes import make_plan

ROW = (7, 0.5, "a", True)


class One(tw.Tuple):
    i: int


class OneOptional(tw.Tuple):
    """Read by Python, not by Arrow."""

    i: int | None


class Text(tw.Tuple):
    i: int
    s: str


class Typed(tw.Tuple):
    i: int
    amount: Decimal
    day: date
    when: datetime | None


def failure(
    folder: Path, format: str, tuple_type: type[tw.Tuple], epoch: int = 1_000_000, degree: int = 1
) -> InputError:
    app = tw.App("bad")
    good = app.source(tw.files(folder, format=format), tuple_type, name="good")
    good.sink(tw.none(), name="kept")
    plan = make_plan(app.graph(), degree=degree)
    with pytest.raises(InputError) as caught:
        run_local(plan, RunOptions(max_tuples_per_epoch=epoch), lambda report: None)
    assert caught.value.operator == "good"
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    return caught.value


def told(error: InputError) -> tuple[str, str | None, str | None]:
    return error.message.partition(":")[0], error.expected, error.found


MISFIT, CSV, JSON = "attribute i does not fit", "this file cannot be read as csv", "this file cannot be read as jsonl"
CSV_FAULTS = {
    "one,1.0,a,true": (MISFIT, "int", "'one'"),
    "1.5,1.0,a,true": (MISFIT, "int", "'1.5'"),
    "99999999999999999999,1.0,a,true": (MISFIT, "int", "'99999999999999999999'"),
    f"{'1' * 5000},1.0,a,true": (MISFIT, "int", f"'{'1' * 60}…'"),
    ",1.0,a,true": (MISFIT, "int in every row", "nothing"),
    "1,x,a,true": ("attribute x does not fit", "float", "'x'"),
    "1,1.0,a,yes": ("attribute b does not fit", "bool", "'yes'"),
    "1,1.0,\udcff,true": ("attribute s does not fit", "str in UTF-8", "'�'"),
    "1,2": (CSV, "4 columns (i, x, s, b)", "2 columns (1,2)"),
    "1,1.0,a,true,more": (CSV, "4 columns (i, x, s, b)", "5 columns (1,1.0,a,true,more)"),
    " ": (CSV, "4 columns (i, x, s, b)", "1 columns ( )"),
}
JSON_FAULTS = {
    '{"i": 1, "x": 1.0, "s": "a': (
        JSON,
        "a JSON object",
        '{"i": 1, "x": 1.0, "s": "a (Unterminated string starting, column 25)',
    ),
    '{"i": 1, "x": 1.0,': (
        JSON,
        "a JSON object",
        '{"i": 1, "x": 1.0, (Expecting property name enclosed in double quotes, column 19)',
    ),
    '{"i": 12x, "x": 1.0}': (JSON, "a JSON object", """{"i": 12x, "x": 1.0} (Expecting ',' delimiter, column 9)"""),
    "nonsense": (JSON, "a JSON object", "nonsense (Expecting value, column 1)"),
    "[1]": (JSON, "a JSON object", "[1]"),
    "null": (JSON, "a JSON object", "null"),
    json_line(ROW) + json_line(ROW)[:1]: (
        JSON,
        "a JSON object",
        '{"i": 7, "x": 0.5, "s": "a", "b": true, "more": [1]}{ (Extra data, column 53)',
    ),
    '{"i": 1, "x": 1.0, "s": "\udcff", "b": true}': ("attribute s does not fit", "str in UTF-8", "'�'"),
    '{"i": 1, "x": 1.0, "s": "a"}': ("attribute b does not fit", "bool in every row", "nothing (the line has i, x, s)"),
    '{"i": null, "x": 1.0, "s": "a", "b": true}': (MISFIT, "int in every row", "nothing"),
    '{"i": "1", "x": 1.0, "s": "a", "b": true}': (MISFIT, "int", "'1'"),
    '{"i": 1.5, "x": 1.0, "s": "a", "b": true}': (MISFIT, "int", "1.5"),
    '{"i": 9223372036854775808, "x": 1.0, "s": "a", "b": true}': (MISFIT, "int", "9223372036854775808"),
    '{"i": 1, "x": "1", "s": "a", "b": true}': ("attribute x does not fit", "float", "'1'"),
    '{"i": 1, "x": 1.0, "s": 2, "b": true}': ("attribute s does not fit", "str", "2"),
    '{"i": 1, "x": 1.0, "s": "a", "b": 1}': ("attribute b does not fit", "bool", "1"),
    '{"i": [1], "x": 1.0, "s": "a", "b": true}': (MISFIT, "int", "[1]"),
    f'{{"i": {"1" * 5000}, "x": 1.0, "s": "a", "b": true}}': (MISFIT, "int", f"{'1' * 60}…"),
    '{"i": 1, "i": 2, "x": 1.0, "s": "a", "b": true}': (
        JSON,
        "a JSON object",
        '{"i": 1, "i": 2, "x": 1.0, "s": "a", "b": true} (Column(/i) was specified twice)',
    ),
    '{"i": 1, "x": 1e999, "s": "a", "b": true}': (
        JSON,
        "a JSON object",
        '{"i": 1, "x": 1e999, "s": "a", "b": true} (Number too big to be stored in double)',
    ),
}
TYPED_CSV = {
    "1,x,2024-05-06,": ("attribute amount does not fit", "Decimal", "'x'"),
    "1,,2024-05-06,": ("attribute amount does not fit", "Decimal in every row", "nothing"),
    "1,1,2024-13-06,": ("attribute day does not fit", "date", "'2024-13-06'"),
    "1,1,2024-05-06,noon": ("attribute when does not fit", "datetime | None", "'noon'"),
    "x,1,2024-05-06,": (MISFIT, "int", "'x'"),
}
TYPED_JSON = {
    '{"i": 1, "amount": "x", "day": "2024-05-06"}': ("attribute amount does not fit", "Decimal", "'x'"),
    '{"i": 1, "amount": 1, "day": "6 May"}': ("attribute day does not fit", "date", "'6 May'"),
    '{"i": 1, "amount": 1, "day": "2024-05-06", "when": 5}': ("attribute when does not fit", "datetime | None", "5"),
    '{"i": 1.0, "amount": 1, "day": "2024-05-06"}': (MISFIT, "int", "1.0"),
    '{"i": 1, "z": Inf}': (JSON, "a JSON object", '{"i": 1, "z": Inf} (Expecting value, column 15)'),
    '{"i": 1, "amount": 1': (JSON, "a JSON object", """{"i": 1, "amount": 1 (Expecting ',' delimiter, column 21)"""),
}
GOOD_JSON = {json_line(ROW): JSON_FAULTS, '{"i": 1, "amount": 1, "day": "2024-05-06"}': TYPED_JSON}
GOOD_CSV = {csv_line(ROW): ("i,x,s,b", CSV_FAULTS), "1,2.50,2024-05-06,": ("i,amount,day,when", TYPED_CSV)}
CASES = [
    *(("csv", header, good, bad, told) for good, (header, faults) in GOOD_CSV.items() for bad, told in faults.items()),
    *(("jsonl", "", good, bad, told) for good, faults in GOOD_JSON.items() for bad, told in faults.items()),
]


def write(path: Path, lines: Sequence[str], end: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode(errors="surrogateescape"))


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("format", "header", "good", "bad", "wanted"), CASES)
def test_every_fault(
    tmp_path: Path, format: str, header: str, good: str, bad: str, wanted: tuple[str, str, str], end: str
) -> None:
    """With empty lines before it, which are lines but not rows, and in the second of three files."""
    tuple_type = Typed if "amount" in header + good else Reading
    head = [header] if header else []
    write(tmp_path / f"a.{format}", [*head, good], end)
    write(tmp_path / f"b.{format}", [*head, good, "", good, "", bad, good, bad], end)
    write(tmp_path / f"c.{format}", [*head, bad], end)
    message, expected, found = wanted
    error = failure(tmp_path, format, tuple_type)
    assert told(error) == (message, expected, f"{found} in row 2, line {5 + len(head)}")
    assert error.message.endswith(f"b.{format}")
    assert "on_error" in str(error.hint)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("epoch", [1_000_000, 1_000], ids=["one epoch", "epochs"])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_row_far_into_a_file(tmp_path: Path, format: str, epoch: int, degree: int) -> None:
    """Arrow counts from the start of a block of a megabyte."""
    if format == "csv":
        rows = ["i,x,s,b", *(f"{i},0.5,{'a' * 30},true" for i in range(100_000))]
        rows[77_777 + 1] = "seven,0.5,a,true"
    else:
        rows = [json_line((i, 0.5, "a" * 30, True)) for i in range(100_000)]
        rows[77_777] = '{"i": "seven", "x": 0.5, "s": "a", "b": true}'
    write(tmp_path / f"a.{format}", rows)
    error = failure(tmp_path, format, Reading, epoch, degree)
    assert told(error) == (MISFIT, "int", f"'seven' in row 77777, line {77_779 if format == 'csv' else 77_778}")


@pytest.mark.parametrize("before", [0, 70_000])
@pytest.mark.parametrize("line", ["null", " \tnull", "null Inf", "nullnull", "null" + json_line(ROW)])
def test_a_line_of_null(tmp_path: Path, before: int, line: str) -> None:
    """Arrow's reader ends the process if null is the first value of one of its blocks."""
    good = json_line(ROW)
    write(tmp_path / "a.jsonl", [good] * before + [line, good, *["null", good] * (before // 100)])
    assert str(failure(tmp_path, "jsonl", Reading).found).endswith(f"in row {before}, line {before + 1}")


def test_a_null_before_a_row_with_too_few_fields(tmp_path: Path) -> None:
    """Arrow rejects the second one first."""
    write(tmp_path / "a.csv", ["i,x,s,b", csv_line(ROW), ",0.5,a,true", "1,2"])
    assert told(failure(tmp_path, "csv", Reading)) == (MISFIT, "int in every row", "nothing in row 1, line 3")
    app = tw.App("few")
    app.source(tw.files(tmp_path, format="csv"), Reading, name="good").map(lambda t: {"x": t.x}).sink(tw.none())
    with pytest.raises(InputError) as caught:
        run_local(make_plan(app.graph()), RunOptions(), lambda report: None)
    assert told(caught.value) == (CSV, "4 columns (i, x, s, b)", "2 columns (1,2) in row 2, line 4")


def test_line_breaks_in_quotes(tmp_path: Path) -> None:
    """A row of CSV may have several lines: the first one counts."""
    write(tmp_path / "a.csv", ["i,x,s,b", '1,0.5,"a', "", 'b",true', '2,0.5,"c""d",true', '3,x,"e', 'f",true'])
    assert told(failure(tmp_path, "csv", Reading)) == ("attribute x does not fit", "float", "'x' in row 2, line 6")


def test_a_quote_that_is_not_closed(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ["i,x,s,b", csv_line(ROW), '1,0.5,"a,true', csv_line(ROW), csv_line(ROW)])
    error = failure(tmp_path, "csv", Reading)
    found = "3 columns (1,0.5,a,true\\n7,0.5,a,true\\n7,0.5,a,true\\n) in row 1, line 3"
    assert told(error) == (CSV, "4 columns (i, x, s, b)", found)
    assert error.hint == "the row has several lines: is a quote missing that closes a field?"


def test_a_row_after_a_long_field(tmp_path: Path) -> None:
    """Python's reader of CSV has a limit of 128 KiB, Arrow's has none."""
    write(tmp_path / "a.csv", ["i,x,s,b", f"1,0.5,{'a' * 200_000},true", "x,0.5,a,true"])
    assert told(failure(tmp_path, "csv", Reading)) == (MISFIT, "int", "'x' in row 1, line 3")


def test_a_header_that_is_not_text(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ["i,x,s,b,\udcff", f"{csv_line(ROW)},1"])
    message, _, found = told(failure(tmp_path, "csv", Reading))
    assert (message, "the header is not in UTF-8" in str(found)) == (CSV, True)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("i,i,x,s,b", "rename the columns: 2 of them are called i"),
        ("I,x,s,b", "did you mean `I`?"),
        (" i,x,s,b", "did you mean ` i`?"),
    ],
)
def test_columns_that_are_not_found(tmp_path: Path, header: str, hint: str) -> None:
    write(tmp_path / "a.csv", [header, "1," * (header.count(",") - 3) + csv_line(ROW)])
    error = failure(tmp_path, "csv", Reading)
    assert told(error) == (MISFIT, "int", f"a file with {header.replace(',', ', ')}")
    assert error.hint == hint


@pytest.mark.parametrize("epoch", [1_000_000, 1_000])
def test_a_line_that_only_arrow_rejects(tmp_path: Path, epoch: int) -> None:
    rows = [json_line((i, 0.5, "a" * 30, True)) for i in range(30_000)]
    rows[23_456] = rows[25_000] = '{"i": 1, "x": 1.0, "s": "a", "b": true, "i": 1}'
    write(tmp_path / "a.jsonl", rows)
    found = told(failure(tmp_path, "jsonl", Reading, epoch))[2]
    assert str(found).endswith("(Column(/i) was specified twice) in row 23456, line 23457")


@pytest.mark.parametrize("value", ['"Inf"', "Inf"])
def test_two_objects_with_infinity_in_a_line(tmp_path: Path, value: str) -> None:
    """Python does not know this form, and Arrow does not mind a second object."""
    good = '{"i": 1, "z": 1}'
    write(tmp_path / "a.jsonl", [good, f'{{"i": 1, "z": {value}}}\r{good}', good, "{"])
    message, _, found = told(failure(tmp_path, "jsonl", One))
    assert message == JSON
    assert str(found).endswith("in row 1, line 2")
    assert ("Extra data" in str(found)) == (value == '"Inf"')


def test_attributes_that_the_type_does_not_have(tmp_path: Path) -> None:
    """They may have different types in each line, be there twice, and even have names that are not text."""
    others = ['"z": 1', '"z": "a"', '"z": [1, "a"]', '"z": 1, "z": {}', '"\udcff": 1', f'"z": {"1" * 5000}']
    write(tmp_path / "a.jsonl", [f'{{"i": {i}, {other}}}' for i, other in enumerate(others)])
    for tuple_type in (One, OneOptional):
        app = tw.App("others")
        app.source(tw.files(tmp_path, format="jsonl"), tuple_type).sink(tw.collect())
        assert [row.i for row in tw.run(app, engine="local").tuples()] == list(range(len(others)))


def test_a_line_with_too_many_brackets(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ['{"i": 1}', f'{{"i": 1, "z": {"[" * 200_000}{"]" * 200_000}}}'])
    assert str(failure(tmp_path, "jsonl", OneOptional).found).endswith("line 2: too many nested brackets")


def test_a_byte_order_mark(tmp_path: Path) -> None:
    write(tmp_path / "csv" / "a.csv", ["\ufeffi,x,s,b", csv_line(ROW), "x,0.5,a,true"])
    assert told(failure(tmp_path / "csv", "csv", Reading)) == (MISFIT, "int", "'x' in row 1, line 3")
    write(tmp_path / "json" / "a.jsonl", ["\ufeff" + json_line(ROW), "[1]"])
    assert told(failure(tmp_path / "json", "jsonl", Reading)) == (JSON, "a JSON object", "[1] in row 1, line 2")


def test_the_first_bad_row_counts_not_the_first_attribute(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ["i,x,s,b", csv_line(ROW), "1,,a,true", ",0.5,a,true"])
    found = ("attribute x does not fit", "float in every row", "nothing in row 1, line 3")
    assert told(failure(tmp_path, "csv", Reading)) == found


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_the_first_bad_row_of_a_table(tmp_path: Path, format: str) -> None:
    texts = pa.array([b"a", b"a", b"\xff", b"a"]).view(pa.string())
    write_table(tmp_path, format, pa.table({"i": [1, 1, 1, None], "s": texts}))
    found = ("attribute s does not fit", "str in UTF-8", "'�' in row 2")
    assert told(failure(tmp_path, format, Text)) == found


TABLES: dict[str, tuple[Any, str, str]] = {
    "null": (pa.array([1] * 3_000 + [None] * 2, pa.int64()), "int in every row", "nothing in row 3000"),
    "range": (
        pa.array([1] * 3_000 + [2**63, 1], pa.uint64()),
        "int",
        "9223372036854775808 as uint64 (Integer value 9223372036854775808 not in range: 0 to 9223372036854775807)"
        " in row 3000",
    ),
}


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("fault", TABLES)
@pytest.mark.parametrize("epoch", [1_000_000, 700])
def test_tables(tmp_path: Path, format: str, fault: str, epoch: int) -> None:
    column, expected, found = TABLES[fault]
    write_table(tmp_path, format, pa.table({"i": column}))
    error = failure(tmp_path, format, One, epoch)
    assert told(error) == (MISFIT, expected, found)
    assert "on_error" in str(error.hint)
    assert ("declare it as `i: int | None`" in str(error.hint)) == (fault == "null")


def write_table(folder: Path, format: str, table: pa.Table) -> None:
    if format == "parquet":
        pq.write_table(table, folder / "a.parquet", row_group_size=1_000)
    else:
        with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=1_000)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("coded", [False, True])
def test_texts_of_tables_that_are_not_utf8(tmp_path: Path, format: str, coded: bool) -> None:
    texts = pa.array([*[b"a", b"b"] * 1_200, b"x\xff", b"c"]).view(pa.string())
    table = pa.table({"i": [1] * len(texts), "s": texts.dictionary_encode() if coded else texts})
    write_table(tmp_path, format, table)
    found = told(failure(tmp_path, format, Text))
    assert found == ("attribute s does not fit", "str in UTF-8", "'x�' in row 2400")


def test_damaged_offsets(tmp_path: Path) -> None:
    """Arrow does not check them when it reads the file; using them would end the process."""
    write_table(tmp_path, "arrow", pa.table({"i": range(1_000), "s": [f"text {i}" for i in range(1_000)]}))
    data = (tmp_path / "a.arrow").read_bytes()
    offset = (sum(len(f"text {i}") for i in range(500))).to_bytes(4, "little")
    assert data.count(offset) == 1
    (tmp_path / "a.arrow").write_bytes(data.replace(offset, b"\xff\xff\xff\x5a"))
    message, _, found = told(failure(tmp_path, "arrow", Text))
    assert message == "attribute s does not fit"
    assert str(found).startswith("damaged data")
    assert str(found).endswith("in row 499")


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_truncated_table(tmp_path: Path, format: str) -> None:
    write_table(tmp_path, format, pa.table({"i": range(1_000)}))
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    assert told(failure(tmp_path, format, One))[0] == f"this file cannot be read as {format}"


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_table_with_two_columns_of_one_name(tmp_path: Path, format: str) -> None:
    write_table(tmp_path, format, pa.table([pa.array([1]), pa.array([2])], names=["i", "i"]))
    assert told(failure(tmp_path, format, One)) == (MISFIT, "int", "a file with i, i")


def test_a_row_after_row_groups_that_were_skipped(tmp_path: Path) -> None:
    """A filter's statistics may leave row groups unread; the rows of others keep their numbers."""

    class Two(tw.Tuple):
        i: int
        x: int

    table = pa.table({"i": [1] * 2_000 + [9] * 1_000, "x": pa.array([1] * 2_500 + [None] + [1] * 499, pa.int64())})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1_000)
    app = tw.App("few")
    app.source(tw.files(tmp_path), Two, name="good").filter(lambda t: t.i > 5).sink(tw.none())
    with pytest.raises(InputError) as caught:
        run_local(make_plan(app.graph()), RunOptions(), lambda report: None)
    assert caught.value.found == "nothing in row 2500"


def test_nulls_of_attributes_that_nothing_reads(tmp_path: Path) -> None:
    """They do not stop the run under `fail`, so they are not what is reported either."""
    lines = ['{"i": 1, "x": 1.0, "s": "a"}', json.dumps({"i": "x", "x": 1.0, "s": "a", "b": True})]
    write(tmp_path / "a.jsonl", lines)
    app = tw.App("few")
    app.source(tw.files(tmp_path, format="jsonl"), Reading, name="good").map(lambda t: {"i": t.i}).sink(tw.none())
    with pytest.raises(InputError) as caught:
        run_local(make_plan(app.graph()), RunOptions(), lambda report: None)
    assert told(caught.value) == (MISFIT, "int", "'x' in row 1, line 2")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("data", "found", "hint"),
    [
        ("i\n1\n2\n".encode("utf-16"), "text in UTF-16", "convert the file to UTF-8"),
        (b"PAR1\x15\x04\n\xff,\x15PAR1", "a Parquet file", 'tw.files(…, format="parquet")'),
        (b"ARROW1\0\0\xff\xff\n\xff", "an Arrow file", 'tw.files(…, format="arrow")'),
    ],
)
def test_a_file_that_is_not_text(format: str, data: bytes, found: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{format}"
    file.write_bytes(data)
    error = failure(file, format, One)
    assert told(error) == (f"this file cannot be read as {format}", "text in UTF-8", found)
    assert error.hint == hint


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
def test_a_compressed_file(name: str, tmp_path: Path) -> None:
    """Arrow would decompress a file called .gz, and its rows and lines would not be those of the file."""
    file = tmp_path / name
    file.write_bytes(gzip.compress(b"i\n1\n2\n"))
    format = "csv" if ".csv" in name else "jsonl"
    error = failure(file, format, One)
    assert told(error) == (f"this file cannot be read as {format}", "text", "data compressed with gzip")
    assert error.hint == "decompress the file first"
    app = tw.App("bad")
    app.source(tw.files(file, format=format, on_error="skip"), One, name="good").sink(tw.collect())
    with pytest.warns(ThalwegWarning, match="of . rows are not valid"):
        assert tw.run(app, engine="local").tuples() == []
