"""What is said about bad records, and when they stop the run all the same. Random files: tests/properties."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.bad_files import BAD_CSV, BAD_JSON, Reading, break_row_group, csv_line, json_line
from tests.small import Stop, thalweg
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import GraphError, InputError
from thalweg.explain import explain
from thalweg.optimize.passes import make_plan

ROW = (7, 0.5, "a", True)


class Typed(tw.Tuple):
    i: int
    amount: Decimal
    when: datetime | None


def app_of(folder: Path, format: str, tuple_type: type[tw.Tuple] = Reading, on_error: str = "dead_letter") -> tw.App:
    app = tw.App("bad")
    good = app.source(tw.files(folder, format=format, on_error=on_error), tuple_type, name="good")
    good.sink(tw.collect(), name="kept")
    if on_error == "dead_letter":
        good.dead_letters.sink(tw.collect(), name="bad")
    return app


def run(app: tw.App, checkpoint: Path | None = None, watch: Any = lambda report: None, **more: Any) -> RunResult:
    return run_local(make_plan(app.graph()), RunOptions(checkpoint, max_tuples_per_epoch=2, **more), watch)


def letters(result: RunResult) -> list[tuple[str, str, int]]:
    """Error, text and row of each."""
    assert {letter[0] for letter in result.tuples("bad")} <= {"good"}
    return [(error, text, row) for _, error, text, _, row in result.tuples("bad")]


def read(folder: Path, name: str, data: bytes, tuple_type: type[tw.Tuple] = Reading) -> RunResult:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return run(app_of(folder, name.partition(".")[2], tuple_type))


CSV = {
    "1,2": "line 3: expected 4 columns (i, x, s, b), found 2 columns (1,2)",
    "one,1.0,a,true": "line 3: i: expected int, found 'one'",
    ",1.0,a,true": "line 3: i: expected int in every row, found nothing",
}


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["", "BOM"])
@pytest.mark.parametrize("line", CSV)
def test_a_bad_line_of_csv(tmp_path: Path, line: str, start: str) -> None:
    result = read(tmp_path, "a.csv", f"{start}i,x,s,b\n{csv_line(ROW)}\n{line}\n{csv_line(ROW)}\n".encode())
    assert result.tuples("kept") == [ROW, ROW]
    assert letters(result) == [(CSV[line], line, 1)]
    assert result.left_out == {"good": 1}


JSON = {
    "nonsense": "line 2: expected a JSON object, found nonsense (Expecting value, column 1)",
    '{"i": 1, "x": 1.0, "s": "a"}': "line 2: b: expected bool in every row, found nothing",
    '{"i": "1", "x": 1.0, "s": "a", "b": true}': "line 2: i: expected int, found '1'",
    json_line(ROW) + json_line(ROW): "(Extra data, column 53)",
}


@pytest.mark.parametrize("line", JSON)
def test_a_bad_line_of_json(tmp_path: Path, line: str) -> None:
    result = read(tmp_path, "a.jsonl", f"{json_line(ROW)}\n{line}\n{json_line(ROW)}\n".encode())
    assert result.tuples("kept") == [ROW, ROW]
    ((error, text, row),) = letters(result)
    assert JSON[line] in error
    assert (text, row) == (line, 1)


def test_bad_values_of_other_types(tmp_path: Path) -> None:
    """Those that Python converts: the same rows are bad in both text formats."""
    lines = ["1,2.50,2024-05-06T07:08:09", "2,x,2024-05-06T07:08:09", "3,1,yesterday", "4,7,"]
    as_csv = read(tmp_path / "csv", "a.csv", "\n".join(["i,amount,when", *lines]).encode(), Typed)
    objects = [dict(zip(("i", "amount", "when"), line.split(","), strict=True)) for line in lines]
    as_json = read(
        tmp_path / "json",
        "a.jsonl",
        "\n".join(json.dumps(o | {"i": int(o["i"]), "when": o["when"] or None}) for o in objects).encode(),
        Typed,
    )
    for result, first in ((as_csv, 2), (as_json, 1)):
        assert result.tuples("kept") == [(1, Decimal("2.50"), datetime(2024, 5, 6, 7, 8, 9)), (4, Decimal(7), None)]
        assert [row for _, _, row in letters(result)] == [1, 2]
        assert letters(result)[0][0].startswith(f"line {first + 1}: amount: expected Decimal, found 'x'")
        assert letters(result)[1][0].startswith(f"line {first + 2}: when: expected datetime | None, found 'yesterday'")


class Columns(tw.Tuple):
    s: str | None
    x: float | None
    i: int
    t: str


def test_columns_of_csv_in_a_different_order(tmp_path: Path) -> None:
    """With columns that are not declared, quotes, and values of which only Arrow knows whether they are valid."""
    lines = [
        "1,a,2.5,2024-01-01,s",
        '2,b,"",2024-01-01,',
        "x,c,1,2024-01-01,s",
        "4,,,,",
        '5,"d",1e3,,""',
        " 6,e,Inf,,t",
    ]
    result = read(tmp_path, "a.csv", "\n".join(["i,t,x,when,s", *lines]).encode(), Columns)
    kept = [("s", 2.5, 1, "a"), (None, None, 4, ""), ("", 1000.0, 5, "d"), ("t", float("inf"), 6, "e")]
    assert result.tuples("kept") == kept
    assert [(text, row) for _, text, row in letters(result)] == [(lines[1], 1), (lines[2], 2)]


def test_text_that_cannot_be_decoded(tmp_path: Path) -> None:
    result = read(tmp_path, "a.csv", b"i,x,s,b\n1,1.0,\xff,true\n" + csv_line(ROW).encode())
    assert result.tuples("kept") == [ROW]
    assert [(text, row) for _, text, row in letters(result)] == [("1,1.0,�,true", 0)]


def test_a_header_without_an_attribute(tmp_path: Path) -> None:
    """One letter for the whole file; all its rows are left out."""
    result = read(tmp_path, "a.csv", b"i,x,s\n1,1.0,a\n2,1.0,a\n3,1.0,a\n")
    assert letters(result) == [("b: expected bool, found a file with i, x, s", "", 0)]
    assert result.left_out == {"good": 3}


def test_an_empty_file(tmp_path: Path) -> None:
    """Without even a header it is one bad row; JSON lines may be none."""
    for name, rows in (("a.csv", 1), ("a.parquet", 1), ("a.arrow", 1), ("a.jsonl", 0)):
        result = read(tmp_path / name, name, b"")
        assert (result.tuples("kept"), len(letters(result))) == ([], rows), name
        assert sum(result.left_out.values()) == rows


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["", "BOM"])
@pytest.mark.parametrize("on_error", ["fail", "skip", "dead_letter"])
def test_a_header_without_the_end_of_its_line(tmp_path: Path, start: bytes, on_error: str) -> None:
    (tmp_path / "a.csv").write_bytes(start + b"i,x,s,b")
    (tmp_path / "b.csv").write_bytes(f"i,x,s,b\n{csv_line(ROW)}".encode())
    result = run(app_of(tmp_path, "csv", on_error=on_error))
    assert (result.tuples("kept"), result.left_out) == ([ROW], {})


def test_the_text_of_a_first_line_has_no_byte_order_mark(tmp_path: Path) -> None:
    for data in (b"nonsense", b'{"i": 1}'):
        ((_, text, row),) = letters(read(tmp_path / str(len(data)), "a.jsonl", b"\xef\xbb\xbf" + data + b"\n"))
        assert (text.encode(), row) == (data, 0)


def test_a_header_that_is_not_text(tmp_path: Path) -> None:
    """Also if the file has no rows."""
    for number, rows in enumerate((b"", b"\n", b"\n1,2,3,4", b"\n1,2,3,4\n5,6,7,8\n")):
        result = read(tmp_path / str(number), "a.csv", b"i,x,s,\xff" + rows)
        ((error, text, row),) = letters(result)
        assert (error.startswith("header: the header is not in UTF-8"), text, row) == (True, "i,x,s,\ufffd\n", 0)
        assert result.left_out == {"good": max(1, rows.count(b",") // 3)}


@pytest.mark.parametrize("before", [0, 70_000])
def test_lines_of_null(tmp_path: Path, before: int) -> None:
    """Arrow's reader ends the process if null is the first value of one of its blocks."""
    lines = [json_line(ROW)] * before + ["null", "null Inf", *["null", json_line(ROW)] * (before // 100), "null"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = run_local(make_plan(app_of(tmp_path, "jsonl").graph()), RunOptions(), lambda report: None)
    found = [row for _, _, row in letters(result)]
    assert found == [row for row, line in enumerate(lines) if line.startswith("null")]
    assert letters(result)[0][0] == f"line {before + 1}: expected a JSON object, found null"
    assert len(result.tuples("kept")) == len(lines) - len(found)


def test_parts_of_a_parquet_file(tmp_path: Path) -> None:
    """A row group that cannot be read, in the middle of two epochs, and a row without a value."""
    columns = {"i": [0, 1, 2, 3, 4, 5, None], "x": [0.5] * 7, "s": ["a"] * 7, "b": [True] * 7}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=3, compression="none")
    break_row_group(tmp_path / "a.parquet", 0)
    result = run(app_of(tmp_path, "parquet"))
    assert [i for i, _, _, _ in result.tuples("kept")] == [3, 4, 5]
    (group, text, first), misfit = letters(result)
    assert group.startswith("row group 0: ")
    assert (text, first) == ("", 0)
    assert misfit == ("i: expected int in every row, found nothing", "i=None, x=0.5, s='a', b=True", 6)
    assert result.left_out == {"good": 4}


@pytest.mark.slow
def test_skip_counts_and_reports(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(f"i,x,s,b\n{csv_line(ROW)}\n1,2\n{csv_line(ROW)}\n3,4\n")
    (tmp_path / "app.py").write_text(
        "import thalweg as tw\n\nclass T(tw.Tuple):\n    i: int\n    x: float\n    s: str\n    b: bool\n\n"
        "app = tw.App('skipping')\n"
        "good = app.source(tw.files('in', format='csv', on_error='skip'), T)\ngood.sink(tw.collect(), name='kept')\n"
    )
    done = thalweg("run", "app.py", "--engine", "local", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "; lost: 2 skipped at good" in done.stdout
    assert "warning: good: 2 of 4 rows are not valid and were left out" in done.stderr
    done = thalweg("run", "app.py", "--engine", "local", "--json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["left_out"] for e in events if e["event"] in ("epoch", "end")] == [{"good": 2}, {}, {"good": 2}]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_fail_stops_with_file_and_reason(tmp_path: Path, format: str) -> None:
    """And every kind of bad line that the other policies know is one for it."""
    header, line_of, bad = ("i,x,s,b\n", csv_line, BAD_CSV) if format == "csv" else ("", json_line, BAD_JSON)
    for number, make in enumerate(bad):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"a.{format}").write_text(f"{header}{line_of(ROW)}\n{make(ROW)}\n{line_of(ROW)}\n")
        with pytest.raises(InputError) as failure:
            run(app_of(folder, format, on_error="fail"))
        assert str(folder) in str(failure.value), make(ROW)
        skipped = run(app_of(folder, format, on_error="skip"))
        assert (skipped.tuples("kept"), skipped.left_out) == ([ROW, ROW], {"good": 1}), make(ROW)


def test_a_failing_disk_is_not_a_bad_record(tmp_path: Path) -> None:
    """What may be read tomorrow must not be left out today: here a folder has the name of a file."""
    for format in ("csv", "jsonl", "parquet", "arrow"):
        folder = tmp_path / format
        (folder / f"a.{format}").mkdir(parents=True)
        with pytest.raises(InputError, match="this file cannot be read") as failure:
            run(app_of(folder, format, on_error="skip"))
        assert "directory" in str(failure.value.found)


def test_a_different_policy_at_a_restart(tmp_path: Path) -> None:
    """A fixed program resumes, from fail to skip; if rows were counted differently before, it is rejected."""

    def stop(report: EpochReport) -> None:
        raise Stop

    folder, quoted = tmp_path / "in", tmp_path / "quoted"
    folder.mkdir()
    quoted.mkdir()
    (folder / "a.jsonl").write_text("\n".join([json_line(ROW)] * 3 + ["nonsense", json_line(ROW)]))
    with pytest.raises(InputError):
        run(app_of(folder, "jsonl", on_error="fail"), tmp_path / "state")
    with pytest.warns(tw.ThalwegWarning, match="on_error was 'fail' and is 'skip'"):
        result = run(app_of(folder, "jsonl", on_error="skip"), tmp_path / "state")
    assert (result.tuples("kept"), result.left_out) == ([ROW] * 4, {"good": 1})

    line = csv_line(ROW)
    (quoted / "a.csv").write_text(f'i,x,s,b\n{line}\n{line}\n7,0.5,"a\nb",true\nx,0.5,a,true\n')
    with pytest.raises(InputError):
        run(app_of(quoted, "csv", on_error="fail"), tmp_path / "other")
    refused = pytest.raises(InputError, match="a different number of rows than when it was taken")
    with refused as failure, pytest.warns(tw.ThalwegWarning, match="on_error was"):
        run(app_of(quoted, "csv", on_error="skip"), tmp_path / "other")
    assert (failure.value.expected, failure.value.found) == ("4 rows", "5 rows")
    assert "on_error= was different then" in str(failure.value.hint)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="files: bad on_error") as failure:
        tw.files(tmp_path, on_error="skp")
    assert failure.value.hint == "did you mean `skip`?"
    app = tw.App("mistakes")
    good = app.source(tw.files(tmp_path, on_error="skip"), Reading)
    with pytest.raises(GraphError, match="has no dead letters"):
        _ = good.dead_letters
    with pytest.raises(GraphError, match="on_error applies only to a source of files"):
        good.sink(tw.files(tmp_path / "out", on_error="skip"))
    app = tw.App("mistakes")
    app.source(tw.files(tmp_path, on_error="dead_letter"), Reading, name="good").sink(tw.none())
    with pytest.raises(GraphError, match="the dead letters of good have no consumer"):
        app.graph()


def test_every_row_is_validated_even_if_it_is_filtered_out(tmp_path: Path) -> None:
    """Neither dead attributes nor a filter's unwanted row groups are left unread, as they are without the policy."""
    columns = {"i": [1, 2, 3, 4], "x": [0.5, None, 0.5, None], "s": ["a"] * 4, "b": [True] * 4}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    app = tw.App("few")
    good = app.source(tw.files(tmp_path, on_error="skip"), Reading, name="good")
    good.filter(lambda t: t.i > 2).map(lambda t: {"i": t.i}).sink(tw.collect(), name="kept")
    result = run(app)
    assert (result.tuples(), result.left_out) == ([(3,)], {"good": 2})
    assert "reads i, x, s, b, to validate every row" in explain(make_plan(app.graph()))


class Noted(tw.Tuple):
    i: int
    note: str


LONG = "y" * 3_000_000
LARGE = {
    "a long row of CSV": ("a.csv", f"i,note\n1,a\n2,{LONG}\n3,b\n", [1, 2, 3]),
    "a long row of JSON": ("a.jsonl", f'{{"i": 1, "note": "{LONG}"}}\n{{"i": 2, "note": ""}}\n', [1, 2]),
    "line breaks in quotes": ("a.csv", "i,note\n" + '1,"x\n7,x\n"\n' * 200_000, [1] * 200_000),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_rows_that_are_valid_in_large_files(tmp_path: Path, kind: str, on_error: str) -> None:
    """Arrow reads files in blocks of a megabyte: a row may be longer, and a row of several lines may be in two."""
    name, text, expected = LARGE[kind]
    (tmp_path / name).write_text(text)
    result = tw.run(app_of(tmp_path, name.partition(".")[2], Noted, on_error), engine="local")
    assert [row[0] for row in result.tuples("kept")] == expected
    assert not result.lost


def test_a_quote_that_is_not_closed(tmp_path: Path) -> None:
    """It would make the rest of the file one text."""
    result = read(tmp_path, "a.csv", b'i,note\n1,a\n2,"b\n3,c\n4,d\n', Noted)
    assert result.tuples("kept") == [(1, "a"), (3, "c"), (4, "d")]
    assert letters(result) == [("line 3: a quote that begins a field is not closed", '2,"b', 1)]
    with pytest.raises(InputError) as failure:
        run(app_of(tmp_path, "csv", Noted, "fail"))
    assert failure.value.expected == "a quote that closes the field"
    assert failure.value.found == "2,b\\n3,c\\n4,d\\n in row 1, line 3"
    assert read(tmp_path / "inner", "a.csv", b'i,note\n1,5" pipe\n', Noted).tuples("kept") == [(1, '5" pipe')]
