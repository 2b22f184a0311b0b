"""File splits: which rows of which files become which epochs, and what is said about files that do not fit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.properties.strategies import MemoryLog, cut_all
from thalweg import agg, window
from thalweg.endpoints.files import Files
from thalweg.engine.core.run import RunOptions
from thalweg.engine.inputs import file_splits as splits
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.readers import readers
from thalweg.engine.inputs.spool import End, Spool
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.errors import InputError
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_list


class Item(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


ROWS: dict[str, Any] = {"i": [1, 2], "x": [0.5, -0.0], "s": ["a", "é"], "b": [True, False]}


def graph_of(*folders: Path, format: str = "parquet") -> LogicalGraph:
    app = tw.App("items")
    for number, folder in enumerate(folders):
        app.source(tw.files(folder, format=format), Item, name=f"s{number}").sink(tw.collect())
    return app.graph()


def write(file: Path, rows: int, first: int = 0, **options: Any) -> None:
    numbers = list(range(first, first + rows))
    columns = {"i": numbers, "x": [n / 2 for n in numbers], "s": [f"t{n}" for n in numbers], "b": [True] * rows}
    schema = pa.schema({"i": pa.int64(), "x": pa.float64(), "s": pa.string(), "b": pa.bool_()})
    pq.write_table(pa.table(columns, schema=schema), file, **options)


def test_a_file_that_is_deleted_while_the_folder_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list of names and the look at each, and between that and the count of its rows."""
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.parquet", 2)
    stat, count = splits._stat, splits._count_rows

    def stat_gone(file: Path) -> os.stat_result | None:
        if file.name == "a.parquet":
            file.unlink()
        return stat(file)

    def count_gone(path: str, format: str, operator: str) -> int:
        if path.endswith("b.parquet"):
            Path(path).unlink()
        return count(path, format, operator)

    monkeypatch.setattr(splits, "_stat", stat_gone)
    monkeypatch.setattr(splits, "_count_rows", count_gone)
    assert [shape(epoch) for epoch in cut_all(graph_of(tmp_path), 100)] == [[("c.parquet", 0, 0, 2)], []]


def shape(epoch: Epoch) -> list[tuple[str, int, int, int]]:
    return [(Path(c.path).name, c.split, c.start, c.stop) for c in epoch.chunks]


def read(graph: LogicalGraph, epochs: list[Epoch], columns: tuple[str, ...] = Item.tuple_type.names) -> list[Any]:
    reader = readers(graph, {s.name: columns for s in graph.sources})
    return [
        row
        for epoch in epochs
        for piece in epoch.pieces()
        for frame in reader[piece.chunk.source].frames(piece, 3)
        for row in zip(frame.position.tolist(), *(to_list(c) for c in frame.columns.values()), strict=True)
    ]


def reader_error(folder: Path, format: str = "parquet") -> InputError:
    graph = graph_of(folder, format=format)
    with pytest.raises(InputError) as caught:
        read(graph, cut_all(graph, 100))
    return caught.value


# Listing and cutting


def test_files_are_taken_in_order_of_name(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "B.parquet", ".hidden.parquet", "_part.parquet", "other.txt"):
        write(tmp_path / name, 1)
    (epoch, final) = cut_all(graph_of(tmp_path), 100)
    assert shape(epoch) == [("B.parquet", 0, 0, 1), ("a.parquet", 1, 0, 1), ("b.parquet", 2, 0, 1)]
    assert final.final
    assert final.chunks == ()


def test_epochs_are_cut_inside_of_files(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", 4)
    write(tmp_path / "b.parquet", 0)
    write(tmp_path / "c.parquet", 3)
    epochs = cut_all(graph_of(tmp_path), 3)
    assert [shape(e) for e in epochs] == [
        [("a.parquet", 0, 0, 3)],
        [("a.parquet", 0, 3, 4), ("c.parquet", 2, 0, 2)],
        [("c.parquet", 2, 2, 3)],
        [],
    ]
    assert [e.number for e in epochs] == [0, 1, 2, 3]


def test_a_small_limit_starves_no_source(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.parquet", 2)
    epochs = cut_all(graph_of(tmp_path / "one", tmp_path / "two"), 1)
    assert [[c.source for c in e.chunks] for e in epochs] == [["s0", "s1"], ["s0", "s1"], []]


def test_a_new_file_comes_after_all_that_were_taken(tmp_path: Path) -> None:
    """Even if its name sorts before theirs."""
    graph = graph_of(tmp_path)
    write(tmp_path / "m.parquet", 1)
    cutter = EpochCutter(graph.sources, MemoryLog(), 100)
    assert cutter.next_epoch(closing=False) is not None
    assert cutter.next_epoch(closing=False) is None
    write(tmp_path / "a.parquet", 1)
    epoch = cutter.next_epoch(closing=False)
    assert epoch is not None
    assert shape(epoch) == [("a.parquet", 1, 0, 1)]


@pytest.mark.parametrize("done", range(5))
def test_a_cutter_continues_where_the_log_ends(tmp_path: Path, done: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, rows in (("a", 4), ("b", 0), ("c", 3)):
        write(folder / f"{name}.parquet", rows)
    graph, expected = graph_of(folder), cut_all(graph_of(folder), 3)
    log = InputLog(tmp_path / "log")
    for epoch in expected[:done]:
        log.append(epoch)
    cutter = EpochCutter(graph.sources, log, 3)
    while cutter.next_epoch(closing=True) is not None:
        pass
    assert [shape(e) for e in log] == [shape(e) for e in expected]
    assert cutter.next_epoch(closing=True) is None, "after the end there is nothing"


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder does not exist") as caught:
        cut_all(graph_of(tmp_path / "nowhere"), 1)
    assert caught.value.operator == "s0"


def test_a_single_file_is_a_source(tmp_path: Path) -> None:
    write(tmp_path / "only.parquet", 2)
    write(tmp_path / "other.parquet", 2)
    (epoch, _) = cut_all(graph_of(tmp_path / "only.parquet"), 100)
    assert shape(epoch) == [("only.parquet", 0, 0, 2)]


# Changed and vanished files


def test_a_taken_file_that_changed_stops_the_run(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    write(tmp_path / "a.parquet", 4)
    cutter = EpochCutter(graph.sources, MemoryLog(), 2)
    epoch = cutter.next_epoch(closing=False)
    assert epoch is not None
    write(tmp_path / "a.parquet", 5)
    with pytest.raises(InputError, match="changed after it was taken"):
        cutter.next_epoch(closing=False)
    with pytest.raises(InputError, match="changed after it was taken"):
        read(graph, [epoch])


def test_a_file_of_the_same_size_with_a_different_time_stamp(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    write(tmp_path / "a.parquet", 4)
    epochs = cut_all(graph, 100)
    os.utime(tmp_path / "a.parquet", ns=(1, 1))
    with pytest.raises(InputError, match="changed after it was taken"):
        read(graph, epochs)


def test_a_vanished_file_stops_the_run(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    write(tmp_path / "a.parquet", 4)
    epochs = cut_all(graph, 100)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(InputError, match="disappeared before it was fully processed"):
        read(graph, epochs)


# Reading


@pytest.mark.parametrize("row_group_size", [1, 3, 4, 100])
@pytest.mark.parametrize("max_tuples", [1, 3, 5, 100])
def test_slices_of_row_groups(tmp_path: Path, row_group_size: int, max_tuples: int) -> None:
    """Each row group has its own dictionary; a chunk may begin and end inside of groups."""
    write(tmp_path / "a.parquet", 10, row_group_size=row_group_size)
    graph = graph_of(tmp_path)
    epochs = cut_all(graph, max_tuples)
    found = [row[1:] for row in read(graph, epochs)]
    assert found == [(n, n / 2, f"t{n}", True) for n in range(10)]


def test_positions_continue_from_epoch_to_epoch(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", 5)
    graph = graph_of(tmp_path)
    assert [row[0] for row in read(graph, cut_all(graph, 3))] == [0, 1, 2, 3, 4]


def test_only_live_columns_are_looked_at(tmp_path: Path) -> None:
    """A file without the dead attributes, or with nonsense in them, is fine."""
    pq.write_table(pa.table({"i": [1, 2], "x": ["no", None]}), tmp_path / "a.parquet")
    graph = graph_of(tmp_path)
    epochs = cut_all(graph, 100)
    assert read(graph, epochs, ("i",)) == [(0, 1), (1, 2)]
    assert read(graph, epochs, ()) == [(0,), (1,)], "without a live attribute there are still positions"


@pytest.mark.parametrize(
    ("name", "array", "expected"),
    [
        ("i", pa.array([1, 2], pa.int8()), [1, 2]),
        ("i", pa.array([1, 2], pa.uint64()), [1, 2]),
        ("x", pa.array([1.5, 2.5], pa.float32()), [1.5, 2.5]),
        ("x", pa.array([1, 2], pa.int64()), [1.0, 2.0]),
        ("s", pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        pytest.param(
            "s",
            pa.array(["a", "b"], pa.string_view()),
            ["a", "b"],
            marks=pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 21, reason="pyarrow does not write it"),
        ),
        ("s", pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
    ],
)
def test_types_that_fit(tmp_path: Path, name: str, array: pa.Array, expected: list[Any]) -> None:
    pq.write_table(pa.table(ROWS | {name: array}), tmp_path / "a.parquet")
    graph = graph_of(tmp_path)
    column = Item.tuple_type.names.index(name) + 1
    assert [row[column] for row in read(graph, cut_all(graph, 100))] == expected


@pytest.mark.parametrize(
    ("name", "array", "found"),
    [
        ("i", pa.array([1.0, 2.0]), "double"),
        ("i", pa.array(["1", "2"]), "string"),
        ("i", pa.array([True, False]), "bool"),
        ("i", pa.array([1, 2**64 - 1], pa.uint64()), "uint64"),
        ("i", pa.array([1, None], pa.int64()), "nothing in row 1"),
        ("x", pa.array([None, 1.0]), "nothing in row 0"),
        ("x", pa.array(["a", "b"]), "string"),
        ("x", pa.array([1, 2**53 + 1]), "int64"),
        ("s", pa.array([b"\xff", b"a"]), "binary"),
        ("s", pa.array([1, 2]), "int64"),
        ("s", pa.array(["a", None]), "nothing in row 1"),
        ("b", pa.array([0, 1]), "int64"),
    ],
)
def test_types_that_do_not_fit(tmp_path: Path, name: str, array: pa.Array, found: str) -> None:
    pq.write_table(pa.table(ROWS | {name: array}), tmp_path / "a.parquet")
    error = reader_error(tmp_path)
    assert error.message.startswith(f"attribute {name} does not fit")
    assert str(tmp_path / "a.parquet") in error.message
    assert found in str(error.found)
    assert error.operator == "s0"


def test_a_null_is_reported_with_its_row_in_the_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": [1] * 9 + [None]} | {n: ROWS[n] * 5 for n in "xsb"}), tmp_path / "a.parquet")
    graph = graph_of(tmp_path)
    with pytest.raises(InputError) as caught:
        read(graph, cut_all(graph, 4))
    assert caught.value.found == "nothing in row 9"


def test_a_missing_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({n: ROWS[n] for n in "ixb"}), tmp_path / "a.parquet")
    assert reader_error(tmp_path).found == "a file with i, x, b"


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        cut_all(graph_of(tmp_path), 1)


# Text formats

CSV = 'i,x,s,b\n1,0.5,"a,b",true\n-2,nan,NA,false\n3,inf,,true\n4,-0.0,"two\nlines",true\n'
JSONL = """\
{"i": 1, "x": 0.5, "s": "a,b", "b": true}
{"b": false, "s": "", "i": 9007199254740993, "x": 2, "more": 1}
"""


def test_csv(tmp_path: Path) -> None:
    """`nan` is a float and `NA` a string; only an empty field is a null, and in a string not even that."""
    (tmp_path / "a.csv").write_text(CSV)
    graph = graph_of(tmp_path, format="csv")
    rows = [row[1:] for row in read(graph, cut_all(graph, 2))]
    assert repr(rows) == repr(
        [
            (1, 0.5, "a,b", True),
            (-2, float("nan"), "NA", False),
            (3, float("inf"), "", True),
            (4, -0.0, "two\nlines", True),
        ]
    )


def test_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(JSONL)
    (tmp_path / "b.ndjson").write_text(JSONL)
    graph = graph_of(tmp_path, format="jsonl")
    rows = [row[1:] for row in read(graph, cut_all(graph, 1))]
    assert rows == [(1, 0.5, "a,b", True), (9007199254740993, 2.0, "", False)] * 2


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("csv", "i,x,s,b\n,0.5,a,true\n", "attribute i does not fit"),
        ("csv", "i,x,s,b\nNA,0.5,a,true\n", "attribute i does not fit"),
        ("csv", "i,x,s,b\n1.5,0.5,a,true\n", "attribute i does not fit"),
        ("csv", "i,x,s\n1,0.5,a\n", "attribute b does not fit"),
        ("csv", "i,x,s,b\n1,0.5\n", "cannot be read as csv"),
        ("csv", "", "cannot be read as csv"),
        ("jsonl", '{"i": 1, "x": 1, "s": "a"}\n', "attribute b does not fit"),
        ("jsonl", '{"i": "1", "x": 1, "s": "a", "b": true}\n', "attribute i does not fit"),
        ("jsonl", '{"i": 1', "cannot be read as jsonl"),
    ],
)
def test_text_that_does_not_fit(tmp_path: Path, format: str, content: str, message: str) -> None:
    (tmp_path / f"a.{format}").write_text(content)
    assert message in reader_error(tmp_path, format).message


def test_a_csv_with_a_header_only_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("i,x,s,b\n")
    (final,) = cut_all(graph_of(tmp_path, format="csv"), 1)
    assert final.final


def test_an_empty_jsonl_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    (final,) = cut_all(graph_of(tmp_path, format="jsonl"), 1)
    assert final.final


# Arrow


def write_arrow(file: Path, table: pa.Table, *, stream: bool, batch_rows: int, **options: Any) -> None:
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(str(file), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=batch_rows)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("batch_rows", [1, 3, 100])
@pytest.mark.parametrize("max_tuples", [1, 4, 100])
def test_slices_of_record_batches(
    tmp_path: Path, batch_rows: int, max_tuples: int, stream: bool, compression: str | None
) -> None:
    numbers = range(10)
    table = pa.table(
        {"s": [f"t{n % 3}" for n in numbers], "more": [None] * 10, "b": [n > 4 for n in numbers], "i": list(numbers)}
        | {"x": [n / 3 for n in numbers]}
    )
    table = table.set_column(0, "s", table["s"].dictionary_encode()) if max_tuples == 4 else table
    write_arrow(tmp_path / "a.arrow", table, stream=stream, batch_rows=batch_rows, compression=compression)
    graph = graph_of(tmp_path, format="arrow")
    epochs = cut_all(graph, max_tuples)
    assert [row[1:] for row in read(graph, epochs)] == [(n, n / 3, f"t{n % 3}", n > 4) for n in numbers]
    assert [row[1:] for row in read(graph, epochs, ("b",))] == [(n > 4,) for n in numbers]
    assert len(read(graph, epochs, ())) == 10


@pytest.mark.parametrize("content", [b"", b"no", b"ARROW1\0\0", b"\xff" * 100])
def test_a_file_that_is_not_arrow(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as arrow") as caught:
        cut_all(graph_of(tmp_path, format="arrow"), 1)
    assert "a.arrow" in str(caught.value.found)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("values", [["a", "a", "b"], ["a", "b", None], ["b", "a", "c"]], ids=str)
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_dictionaries_that_others_made(tmp_path: Path, kind: pa.DataType, values: list[Any], on_error: str) -> None:
    """Arrow permits repeated and missing values in a dictionary, and other types of text."""
    codes = [0, 1, 0, 1]
    coded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values, kind))
    table = pa.table({"i": codes, "x": [0.5] * 4, "s": coded, "b": [True] * 4})
    write_arrow(tmp_path / "a.arrow", table, stream=False, batch_rows=4)
    write_arrow(tmp_path / "b.arrow", pa.table(ROWS), stream=False, batch_rows=1)
    app = tw.App("coded")
    items = app.source(tw.files(tmp_path, format="arrow", on_error=on_error), Item)
    items.filter(lambda t: t.s == "a").map(lambda t: {"i": t.i}).sink(tw.collect(), name="same")
    items.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count()).sink(tw.collect(), name="counts")
    result = run_local(make_plan(app.graph()), RunOptions(), lambda report: None)
    texts = [values[code] for code in codes] + ROWS["s"]
    numbers = [*codes, *ROWS["i"]]
    assert result.tuples("same") == [(i,) for i, text in zip(numbers, texts, strict=True) if text == "a"]
    assert result.tuples("counts") == [(text, texts[: at + 1].count(text)) for at, text in enumerate(texts)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_a_value_that_is_missing_in_a_dictionary(tmp_path: Path, kind: pa.DataType) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None], kind))
    write_arrow(tmp_path / "a.arrow", pa.table(ROWS | {"s": coded}), stream=False, batch_rows=2)
    assert reader_error(tmp_path, "arrow").found == "nothing in row 1"


def test_an_arrow_file_that_does_not_fit(tmp_path: Path) -> None:
    table = pa.table(ROWS | {"i": pa.array([1, None], pa.int64())})
    write_arrow(tmp_path / "a.feather", table, stream=False, batch_rows=1)
    assert reader_error(tmp_path, "arrow").found == "nothing in row 1"


def test_an_arrow_file_without_a_column(tmp_path: Path) -> None:
    write_arrow(tmp_path / "a.ipc", pa.table({n: ROWS[n] for n in "ixb"}), stream=True, batch_rows=1)
    assert reader_error(tmp_path, "arrow").found == "a file with i, x, b"


def test_an_empty_arrow_file_has_no_rows(tmp_path: Path) -> None:
    for stream in (False, True):
        write_arrow(tmp_path / f"{stream}.arrow", pa.table(ROWS).slice(0, 0), stream=stream, batch_rows=1)
    (final,) = cut_all(graph_of(tmp_path, format="arrow"), 1)
    assert final.final


def steps(folder: Path, files: int) -> int:
    """How many lines of the file splits are run to take this many files, one per epoch."""
    folder.mkdir()
    for number in range(files):
        (folder / f"{number:04d}.jsonl").write_text('{"i": 1, "x": 1.0, "s": "a", "b": true}\n')
    counted = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal counted
        counted += event == "line"
        return trace if frame.f_code.co_filename == splits.__file__ else None

    found = graph_of(folder, format="jsonl").sources[0]
    assert isinstance(found.endpoint, Files)
    source = splits.FileSplits(found, found.endpoint.path, "jsonl")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        source.look()
        while chunks := list(source.take(1)):
            source.took(*chunks)
            assert source.backlog() == files - chunks[0].split - 1
    finally:
        sys.settrace(before)
    return counted


def test_many_waiting_files_cost_as_much_as_each_of_them(tmp_path: Path) -> None:
    assert steps(tmp_path / "many", 400) < 3 * steps(tmp_path / "some", 200)


@pytest.mark.parametrize("listings", [1, 6])
def test_folders_are_not_listed_whenever_another_source_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listings: int
) -> None:
    """But they are once all sources that end by themselves have ended: what is there by then is in the run."""
    seen: list[Path] = []
    listed = splits._listed

    def spy(source: Any, root: Path) -> list[Path]:
        seen.append(root)
        return listed(source, root)

    monkeypatch.setattr(splits, "_listed", spy)
    app = tw.App("two_sources")
    app.source(tw.files(tmp_path), Item, name="files").sink(tw.collect())
    app.source(tw.iterable([]), Item, name="said").sink(tw.collect())
    spools = tmp_path / "spools"
    spool = Spool.of(spools, "said")
    spool.open()
    cutter = EpochCutter(app.graph().sources, MemoryLog(), 10, spools, interval_s=1e9 if listings == 1 else 0.0)
    for _ in range(6):
        assert cutter.next_epoch(closing=True) is None
    assert len(seen) == listings
    write(tmp_path / "late.parquet", 2)
    spool.mark_end(End())
    epochs = [cutter.next_epoch(closing=True), cutter.next_epoch(closing=True)]
    assert [(epoch.tuples, epoch.final) for epoch in epochs if epoch is not None] == [(2, False), (0, True)]
