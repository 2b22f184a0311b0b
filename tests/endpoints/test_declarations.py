"""What every endpoint declares: a class that leaves something out fails, and the docs have what the others declare."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import thalweg as tw
from thalweg import endpoints as package
from thalweg.endpoints.beacon import Beacon
from thalweg.endpoints.feed import Feed
from thalweg.endpoints.iterable import Items
from thalweg.endpoints.spark_rows import SparkFormat
from thalweg.errors import InternalError
from thalweg.ir import endpoints
from thalweg.ir.completeness import missing_pieces
from thalweg.ir.endpoints import (
    Endpoint,
    FedByDriver,
    FedBySpark,
    ReadAgain,
    SinkEndpoint,
    SinkSite,
    SourceEndpoint,
    any_tuple_type,
)
from thalweg.lang import public

LANGUAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
ENDPOINTS = list(endpoints._known.values())
SOURCES = [e for e in ENDPOINTS if issubclass(e, SourceEndpoint)]
SINKS = [e for e in ENDPOINTS if issubclass(e, SinkEndpoint)]


def test_a_sink_that_declares_nothing_fails_when_it_is_made() -> None:
    with pytest.raises(InternalError) as failure:

        class Hole(SinkEndpoint):
            pass

    assert failure.value.message == (
        "the endpoint Hole does not declare "
        "call, check_sink, folder, needs_spark, placed, shows_order, sink_row, target, writer"
    )


def declarations(endpoint: type) -> set[str]:
    """What a class must define itself, because none of its base classes does."""
    return set(missing_pieces(type("Base", endpoint.__bases__, {}, abstract=True)))


ALL: list[type] = [*ENDPOINTS, Feed]
PARTS = [(endpoint, name) for endpoint in ALL for name in sorted(declarations(endpoint))]


@pytest.mark.parametrize(("endpoint", "name"), PARTS, ids=[f"{e.__name__}.{name}" for e, name in PARTS])
def test_no_endpoint_may_leave_a_declaration_out(endpoint: type, name: str) -> None:
    """Above all `placed` (a replay would change the order) and `concurrent_splits` (explain would
    call a sharded source cut-invariant): a default would be wrong without a sign of it."""
    whole = {key: value for key, value in vars(endpoint).items() if key in declarations(endpoint)}
    type("Whole", endpoint.__bases__, whole | {"call": ""})
    del whole[name]
    with pytest.raises(InternalError, match=rf"the endpoint Part does not declare {name}$"):
        type("Part", endpoint.__bases__, whole)


def test_every_declaration_without_a_safe_default_is_required() -> None:
    common = {"call", "needs_spark", "folder"}
    source = {"source_row", "no_sample", "identity", "endless", "row_policy", "numbered", "check_source"} | common
    assert declarations(Beacon) == source | {"concurrent_splits", "skips_unwanted", "at_once", "splits", "reader"}
    assert declarations(Items) == source | {"patient", "feed"}
    assert declarations(SparkFormat) == source | {"batch_order", "split_by", "rows"}
    assert declarations(Feed) == common | {"sink_row", "placed", "shows_order", "target", "writer", "check_sink"}


def test_a_class_that_lacks_a_declaration_does_not_change_what_others_are() -> None:
    """It stays among the subclasses of its bases, which an abstract base class would ask."""

    class Other(Items):
        call = ""

    assert issubclass(Other, FedByDriver)
    with pytest.raises(InternalError):
        type("Both", (FedByDriver, SinkEndpoint), {})
    assert not issubclass(Other, SinkEndpoint)


def test_a_source_is_of_one_of_the_three_kinds() -> None:
    whole = dict.fromkeys(declarations(Beacon)) | {"call": ""}
    with pytest.raises(InternalError, match="the source Odd is not a ReadAgain, FedByDriver or FedBySpark"):
        type("Odd", (SourceEndpoint,), whole)


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (ReadAgain, "reader, row_policy, skips_unwanted, source_row, splits"),
        (FedByDriver, "feed, .*patient, "),
        (FedBySpark, "batch_order, .*rows, "),
    ],
)
def test_each_kind_of_source_must_be_readable(kind: type[SourceEndpoint], own: str) -> None:
    with pytest.raises(InternalError, match=f"the endpoint Dry does not declare .*{own}"):
        type("Dry", (kind,), {})


def test_a_declaration_of_the_wrong_class_is_not_taken_for_a_source() -> None:
    assert endpoints.known(SourceEndpoint) == sorted(e.call for e in SOURCES)
    assert "tw.collect()" not in endpoints.known(SourceEndpoint)
    assert "tw.beacon(…)" not in endpoints.known(SinkEndpoint)
    assert not any(e.call == "" for e in ENDPOINTS), "a loop's end is nothing that users write"


def test_no_endpoint_of_the_package_is_left_out_of_the_language() -> None:
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    assert [e for e in endpoints._known.values() if e not in ENDPOINTS] == []


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: e.__name__)
def test_the_language_has_a_constructor(endpoint: type[Endpoint]) -> None:
    name = endpoint.call.removeprefix("tw.").partition("(")[0]
    assert name in public.__all__
    assert getattr(tw, name).__module__ == endpoint.__module__


def rows_of(heading: str) -> list[tuple[str, ...]]:
    """The rows of the first table under a heading."""
    section = LANGUAGE.split(f"\n## {heading}\n")[1]
    table = section.partition("|---")[2].partition("\n")[2].partition("\n\n")[0]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()]


def test_the_guide_lists_the_declarations_of_each_source() -> None:
    assert set(rows_of("Sources")) == {e.source_row for e in SOURCES}


def test_the_guide_lists_the_declarations_of_each_sink() -> None:
    assert set(rows_of("Sinks")) == {e.sink_row for e in SINKS}


def test_a_graph_is_built_without_what_runs_it() -> None:
    """Constructors must not cost the time that numpy, Arrow, Spark or a database's driver take to load."""
    script = (
        "import sys, thalweg as tw\n"
        "tw.files('a'); tw.beacon(str); tw.iterable([]); tw.tcp('h', 1); tw.kafka('s', 't'); tw.spark('rate')\n"
        "tw.collect(); tw.console(); tw.none(); tw.sqlite('a.db', 't')\n"
        "print([m for m in ('numpy', 'pyarrow', 'pyspark', 'psycopg', 'sqlite3', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_writer_is_made_for_a_sink(tmp_path: Path) -> None:
    """By the endpoint itself, from no table: so one that is defined here works as any other."""
    app = tw.App("own")
    written: list[int] = []

    class Length(SinkEndpoint):
        call = ""
        needs_spark = placed = shows_order = False
        target = folder = None
        sink_row = ()
        check_sink = any_tuple_type

        def writer(self, site: SinkSite) -> object:
            return Writer()

    class Writer:
        def claim(self, run: str, *, overwrite: bool) -> None: ...

        def write(self, epoch: int, frame: object, *, final: bool) -> int:
            written.append(0 if frame is None else len(frame))  # type: ignore[arg-type]
            return written[-1]

        def show(self, epoch: int, out: object) -> None: ...

    class Item(tw.Tuple):
        i: int

    app.source(tw.beacon(lambda i: {"i": i}, count=3), Item).sink(Length(), name="out")
    assert tw.run(app, engine="local").tuples_out == {"out": 3}
    assert written == [3, 0]
