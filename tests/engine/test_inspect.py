"""Looking into a checkpoint of the local engine. Spark's is in tests/spark."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import pytest

import thalweg as tw
from tests.small import PER_EPOCH, Small, Stop, contents, stop_after
from thalweg import agg, window
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint, plain
from thalweg.errors import CheckpointError
from thalweg.optimize.passes import make_plan
from thalweg.runtime.describe_bucket import KeyEntry, describe_bucket, readable_key
from thalweg.runtime.state import STATE_VERSION
from thalweg.verify.reference import Reference


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


def test_what_is_remembered_is_what_the_reference_remembers(small: Small) -> None:
    with pytest.raises(Stop):
        small.run(watch=stop_after(3))
    before = contents(small.checkpoint)
    found = inspect_checkpoint(small.checkpoint)
    assert contents(small.checkpoint) == before
    assert (found.manifest.app, found.epochs_done, found.ended, found.failure) == ("small", 4, False, None)
    assert (found.epochs_logged, found.tuples, found.files) == (4, 160, 3)
    reference = Reference(small.graph())
    reference.run(small.log())
    vwap = {e.key: e.values for e in found.operator("vwap").entries()}
    assert {key: values["count"] for key, values in vwap.items()} == {
        key: window.came for key, (window, _) in reference.state["vwap"].items()
    }
    join = {e.key: e.values["vwap"] for e in found.operator("bargains.join").entries()}
    assert join == {key: row.vwap for key, row in reference.state["bargains.join"].items()}
    assert found.operator("vwap").keys == len(vwap)
    assert found.operator("vwap").size > 0
    assert {(p.channel, p.bucket) for p in found.operator("vwap").parts} == {(0, 0), (1, 1)}


def test_one_key_and_unknown_names(small: Small) -> None:
    small.run()
    found = inspect_checkpoint(small.checkpoint)
    assert found.ended
    (first, *_) = found.operator("vwap").entries()
    (again,) = found.operator("vwap").entries(tuple(map(str, first.key)))
    assert again == first
    with pytest.raises(CheckpointError, match="no state of vwp") as error:
        found.operator("vwp")
    assert error.value.hint == "did you mean `vwap`?"


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a Thalweg checkpoint"):
        inspect_checkpoint(tmp_path)


class Nasty(tw.Tuple):
    n: int
    x: float
    s: str
    b: bool


KEYS = (("n",), ("x",), ("s",), ("b",), ("s", "n"), ("b", "x", "s"), ())
ROWS = [(-7, -0.0, "", True), (2**62, math.inf, "ä,b", False), (3, 1e-300, "nul\0", True), (3, math.nan, "x", True)]


@pytest.mark.parametrize("key", KEYS, ids=lambda k: "+".join(k) or "none")
def test_keys_are_read_back(tmp_path: Path, key: tuple[str, ...]) -> None:
    """Stored keys are canonical: -0.0 is 0.0, a float is its bits, several attributes are packed."""
    (tmp_path / "in").mkdir()
    app = tw.App("keys")
    rows = app.source(tw.files(tmp_path / "in", format="jsonl"), Nasty)
    counts = rows.aggregate(window.running(by=key), times=agg.count(), total=agg.sum("x"))
    counts.sink(tw.collect())
    lines = [json.dumps(dict(zip(("n", "x", "s", "b"), row, strict=True))) for row in ROWS if math.isfinite(row[1])]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines) + "\n")
    tw.run(app, engine="local", degree=3, checkpoint=tmp_path / "state")
    state = inspect_checkpoint(tmp_path / "state").operator("counts")
    index = {"n": 0, "x": 1, "s": 2, "b": 3}
    expected = {tuple(row[index[name]] for name in key) for row in ROWS if math.isfinite(row[1])}
    found = [entry.key for entry in state.entries()]
    assert set(found) == expected
    assert state.keys == len(found) == len(expected)
    assert {tuple(map(type, k)) for k in found} == {tuple(map(type, k)) for k in expected}


def test_keys_of_unknown_types_are_shown_as_they_are() -> None:
    assert readable_key(b"packed", {"a": "decimal", "b": "int"}) == (b"packed",)
    assert readable_key(17, {"a": "datetime"}) == (17,)
    assert math.isnan(readable_key(0x7FF8000000000000, {"x": "float"})[0])


def bucket(**parts: bytes) -> bytes:
    header = json.dumps({"version": STATE_VERSION, "operators": [(n, len(p)) for n, p in parts.items()]}).encode()
    return len(header).to_bytes(4, "little") + header + b"".join(parts.values())


class Gone:
    """A user's class; the test takes it away before the state is read."""

    def __init__(self) -> None:
        self.total = 3


def test_pickled_objects_are_shown_also_without_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = pickle.dumps([("k", 1, pickle.dumps((("A", 2), (0,), {"seen": [1, 2], "held": Gone()})))])
    (part,) = describe_bucket(bucket(custom=blob))
    assert (part.operator, part.keys()) == ("custom", 1)
    monkeypatch.delattr(f"{__name__}.Gone")
    (entry,) = part.entries({})
    assert entry.key == ("A", 2)
    assert entry.values["seen"] == [1, 2]
    assert repr(entry.values["held"]) == "Gone(total=3)"


def test_an_unknown_form_is_counted_in_bytes_only() -> None:
    (part,) = describe_bucket(bucket(odd=b"something else"))
    assert (part.size, part.keys(), list(part.entries({}))) == (14, None, [])
    (part,) = describe_bucket(bucket(odd=pickle.dumps({"another": "shape"})))
    assert part.keys() is None


def test_a_different_version_is_refused() -> None:
    data = bucket().replace(b'"version": 2', b'"version": 9')
    with pytest.raises(CheckpointError, match="written by a different version"):
        describe_bucket(data)


def test_values_for_json() -> None:
    assert plain({"a": [1, 2.5, math.nan, True, None, "x"], "b": (b"\0", KeyEntry)}) == {
        "a": [1, 2.5, "nan", True, None, "x"],
        "b": ["b'\\x00'", repr(KeyEntry)],
    }


PARAM = ("HERE = Path(__file__).parent", 'HERE = Path(__file__).parent\nfactor = tw.param("factor", default=1.0)')
IN_STATE = ("t.price * t.volume", "t.price * t.volume * factor")
IN_FILTER = ("q.vwap > q.price", "q.vwap * factor > q.price")


def run_with(small: Small, use: tuple[str, str], factor: str) -> None:
    graph = load_app(str(small.app(PARAM, use)), {"factor": factor}).graph()
    options = RunOptions(small.checkpoint, max_tuples_per_epoch=PER_EPOCH)
    run_local(make_plan(graph, degree=2), options, stop_after(1) if factor == "1" else lambda report: None)


def test_a_restart_with_a_different_value(small: Small) -> None:
    """Refused where state was made with it; elsewhere it is another program from now on, and said so."""
    with pytest.raises(Stop):
        run_with(small, IN_STATE, "1")
    assert inspect_checkpoint(small.checkpoint).manifest.params == {"factor": "1.0"}
    with pytest.raises(CheckpointError, match="the state of vwap now has a different meaning"):
        run_with(small, IN_STATE, "2")


@pytest.mark.slow
def test_a_restart_with_a_different_value_outside_of_state(small: Small) -> None:
    with pytest.raises(Stop):
        run_with(small, IN_FILTER, "1")
    expected = r"parameter factor was 1\.0 at the first start and is 2\.0 from this start on"
    with pytest.warns(tw.ThalwegWarning, match=expected), pytest.warns(tw.ThalwegWarning, match="the filter bargains"):
        run_with(small, IN_FILTER, "2")
    assert inspect_checkpoint(small.checkpoint).manifest.params == {"factor": "1.0"}
