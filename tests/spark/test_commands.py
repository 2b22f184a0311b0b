"""What the commands around the operators do on Spark: `state`, parameters and secrets, `testing`."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thalweg as tw
from tests.lang.test_secrets import APP as GUARDED
from tests.lang.test_secrets import WORD
from tests.small import Small, Stop, contents, stop_after
from tests.test_testing import TICKS, summed, tick, two_sources
from thalweg import testing
from thalweg.cli.find_app import load_app
from thalweg.cli.main import cli
from thalweg.engine.state.inspect_checkpoint import Inspection, inspect_checkpoint
from thalweg.load import with_params

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def entries(found: Inspection) -> dict[str, dict[tuple[object, ...], object]]:
    return {s.name: {e.key: dict(e.values) for e in s.entries()} for s in found.operators}


@pytest.mark.parametrize("fuse", ["all", "none"])
def test_state_is_that_of_the_local_engine(tmp_path: Path, fuse: str) -> None:
    """With one stateful stage and with two, each an operator of Spark's."""
    stopped = Small.make(tmp_path / "spark")
    with pytest.raises(Stop):
        stopped.run("spark", fuse=fuse, watch=stop_after(3))
    spark = inspect_checkpoint(stopped.checkpoint)
    # Spark commits an epoch after its report, and may have begun another one before it was stopped.
    assert spark.epochs_done >= 3
    small = Small.make(tmp_path / "local")
    with pytest.raises(Stop):
        small.run("local", fuse=fuse, watch=stop_after(spark.epochs_done - 1))
    local = inspect_checkpoint(small.checkpoint)
    assert local.epochs_done == spark.epochs_done
    assert entries(spark) == entries(local)
    assert entries(spark).keys() == {"vwap", "bargains.join"}
    for state in spark.operators:
        assert {(p.channel, p.bucket) for p in state.parts} == {(0, 0), (1, 1)}
    said = CliRunner().invoke(cli, ["state", str(spark.folder), "--operator", "vwap", "--json"])
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert (document["engine"], document["operators"][0]["name"]) == ("spark", "vwap")
    assert document["operators"][0]["keys"] == spark.operator("vwap").keys


def test_state_after_the_end(tmp_path: Path) -> None:
    found = {}
    for engine in ("spark", "local"):
        small = Small.make(tmp_path / engine)
        small.run(engine)
        found[engine] = inspect_checkpoint(small.checkpoint)
    assert found["spark"].ended
    assert found["spark"].epochs_done == found["local"].epochs_done
    assert entries(found["spark"]) == entries(found["local"])
    assert [s.size for s in found["spark"].operators] == [s.size for s in found["local"].operators]


def test_a_secret_reaches_the_workers_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"x": 1, "s": "a"}\n{"x": 21, "s": "b"}\n')
    file = tmp_path / "guarded_on_spark.py"
    file.write_text(GUARDED)
    app = load_app(str(file), {"word": WORD})
    result = tw.run(app, engine="spark", checkpoint=tmp_path / "state")
    assert result.tuples_out == {"out": 1}
    stored = contents(tmp_path / "state") | contents(tmp_path / "out")
    assert stored
    parts = {base64.b64encode(WORD.encode()[skip:])[4:-4] for skip in range(3)}  # whatever comes before it
    for name, data in stored.items():
        assert WORD.encode() not in data, name
        assert not any(part in data for part in parts), name


def test_an_imported_application_with_other_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers could import the module too, with its defaults: its functions travel with their values instead."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"x": 1}\n{"x": 5}\n{"x": 9}\n')
    (tmp_path / "imported_on_spark.py").write_text(
        "import thalweg as tw\nfrom pathlib import Path\n\nclass T(tw.Tuple):\n    x: int\n\n"
        "limit = tw.param('limit', default=0)\n\ndef keep(t):\n    return [t.x > limit][0]\n\n"
        "app = tw.App('imported')\nt = app.source(tw.files(Path(__file__).parent / 'in', format='jsonl'), T)\n"
        "big = t.filter(keep)\nbig.sink(tw.collect())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import imported_on_spark  # type: ignore[import-not-found]

    assert tw.run(imported_on_spark.app, engine="spark").tuples() == [(1,), (5,), (9,)]
    assert tw.run(imported_on_spark.app, engine="spark", params={"limit": 4}).tuples() == [(5,), (9,)]
    assert tw.run(imported_on_spark.app, engine="spark").tuples() == [(1,), (5,), (9,)]
    assert with_params(imported_on_spark.app, {"limit": 4}).graph().params == (("limit", "4"),)


def test_testing_runs_the_same_epochs() -> None:
    inputs = {"left": [[tick(1)], [], [tick(2), tick(3)]], "right": [[tick(-1)], [], [tick(-2)]]}
    local = testing.run(two_sources(), inputs)
    spark = testing.run(two_sources(), inputs, engine="spark")
    assert spark == local
    assert spark.by_epoch("out") == local.by_epoch("out")
    assert [len(rows) for rows in spark.by_epoch("out")] == [2, 0, 3, 0]
    assert testing.run(summed(), TICKS, epochs=4, degree=2, engine="spark") == testing.run(summed(), TICKS)
