"""Errors on Spark: they name the user's line and the tuple, and sinks end with a whole epoch."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from make_ticks import tick_table

import thalweg as tw
from tests.changed_code import CHANGES_CODE
from tests.small import APP, PER_EPOCH, ROWS_PER_FILE, SYMBOLS, Small, thalweg, undisturbed
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import InputError, ResourceError, StateError, ThalwegError, TupleError
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, CHANGES_CODE]

# Fails for several tuples of the third epoch and of later ones, of both channels.
FAILING_MAP = (
    "(q.vwap - q.price) * q.volume}",
    "(q.vwap - q.price) * q.volume if q.volume != 35 and q.volume != 15 and q.volume != 80 "
    "else q.price / (q.volume - q.volume)}",
)
FAILS_IN, FAILS_AT = 2, 15


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def reference_error(small: Small, change: tuple[str, str]) -> TupleError:
    with pytest.raises(TupleError) as error:
        Reference(small.graph(change)).run(small.log())
    return error.value


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["spark", "local"])
def test_a_tuple_that_fails(small: Small, expected: dict[str, bytes], engine: str) -> None:
    with pytest.raises(TupleError) as error:
        small.run(engine, FAILING_MAP)
    wanted = reference_error(small, FAILING_MAP)
    assert error.value.as_json() == wanted.as_json()
    line = next(n for n, text in enumerate(APP.splitlines(), 1) if text.startswith("gains = "))
    assert error.value.operator == "gains"
    assert str(error.value.where) == f"{small.app(FAILING_MAP)}:{line}"
    assert error.value.at == f"{small.app(FAILING_MAP)}:{line}, in <lambda>"
    assert f"volume={FAILS_AT}" in str(error.value.found)
    assert error.value.message == "ZeroDivisionError: float division by zero"

    assert small.log()[-1].number == FAILS_IN
    assert small.output() == {name: data for name, data in expected.items() if _epoch(name) < FAILS_IN}
    small.run(engine)  # with the fixed function it resumes where it stopped
    assert small.output() == expected


def _epoch(name: str) -> int:
    number = re.search(r"epoch-(\d+)", name)
    return int(number.group(1)) if number else 1_000_000


@pytest.mark.usefixtures("spark")
def test_input_that_does_not_fit(tmp_path: Path) -> None:
    """Other misfits go the same way: tests/engine/test_splits.py."""
    small = Small.make(tmp_path, files=1)
    prices = pa.array([1.0, None, *[1.0] * (ROWS_PER_FILE - 2)])
    small.add_table(tick_table(ROWS_PER_FILE, seed=1, symbols=SYMBOLS).set_column(2, "price", prices), "900.parquet")
    with pytest.raises(InputError, match=r"attribute price does not fit: .*900\.parquet") as error:
        small.run("spark")
    assert (error.value.operator, error.value.found) == ("ticks", "nothing in row 1")


@pytest.mark.usefixtures("spark")
def test_a_corrupt_file(tmp_path: Path) -> None:
    """Found when its rows are counted: no epoch has it yet, so taking it away is enough."""
    small = Small.make(tmp_path / "small", files=1)
    corrupt = small.folder / "ticks" / "900.parquet"
    corrupt.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        small.run("spark")
    corrupt.unlink()
    small.run("spark")
    assert small.output() == undisturbed(tmp_path / "undisturbed", files=1)


class Number(tw.Tuple):
    k: int
    n: int


class Broken(tw.Operator):
    """Fails outside of tuples, in one of three ways."""

    def __init__(self, fails_in: str) -> None:
        self.fails_in = fails_in

    def setup(self) -> None:
        if self.fails_in == "setup":
            raise ValueError("no model")

    def close(self, resource: Any) -> None:
        if self.fails_in == "close":
            raise ValueError("no end")

    def process(self, t: Any, port: int) -> None:
        if self.fails_in == "state":
            self.lock = threading.Lock()
        self.submit(t)


@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore:broken runs in one channel")  # it has a lock
@pytest.mark.parametrize(
    ("fails_in", "kind", "message", "epochs"),
    [
        ("setup", ResourceError, "`setup` of broken failed: ValueError: no model", 0),
        ("state", StateError, "the state of broken cannot be stored: lock cannot be pickled", 0),
        ("close", ResourceError, "`close` of broken failed: ValueError: no end", 2),
    ],
)
def test_errors_outside_of_tuples_are_the_same_on_both_engines(
    tmp_path: Path, fails_in: str, kind: type[ThalwegError], message: str, epochs: int
) -> None:
    """After an error of `close` all results are there."""
    app = tw.App("broken")
    numbers = app.source(tw.beacon(lambda i: Number(i % 3, i), count=9), Number)
    numbers.custom(Broken(fails_in), Number, by="k", name="broken").sink(tw.collect())
    said = []
    for engine, degree in (("local", 1), ("local", 2), ("spark", 2)):
        folder = tmp_path / f"{engine}{degree}"
        with pytest.raises(kind, match=message) as error:
            tw.run(app, engine=engine, degree=degree, checkpoint=folder)
        said.append(error.value.as_json())
        assert len(list(Checkpoint(folder).reports(0))) == epochs
    assert said[0] == said[1] == said[2]
    assert said[0]["operator"] == "broken"


def test_the_command_reports_it_in_one_paragraph(small: Small) -> None:
    """And with --json in one document; the local engine reports the same."""
    command = ("run", str(small.app(FAILING_MAP)), "--max-tuples-per-epoch", str(PER_EPOCH))
    local = thalweg(*command, "--engine", "local", "--json")
    assert (local.returncode, local.stderr) == (1, "")
    said = json.loads(local.stdout.splitlines()[-1])
    done = thalweg(*command, "--overwrite", "--degree", "2", "--master", "local[2]")
    place = f"(operator gains, {said['where']})\n  at: {said['at']}\n"
    assert (done.returncode, done.stderr) == (1, f"tuple error: {said['message']}  {place}  found: {said['found']}\n")
    assert "Traceback" not in done.stdout
