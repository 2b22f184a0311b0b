"""Toolkits: a small package in a folder of its own, found through its entry points as an installed one is."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import thalweg as tw
from tests.small import thalweg
from thalweg.lang.toolkits import ToolkitError, installed

pytestmark = pytest.mark.slow

MODULE = '''"""Operators for rates."""

import thalweg as tw
from thalweg import agg, window


@tw.composite
def count_by(stream: tw.Stream, key: str) -> tw.Stream:
    """How often each key came."""
    counts = stream.aggregate(window.running(by=key), times=agg.count())
    return counts
'''
APP = """
import thalweg as tw

class T(tw.Tuple):
    k: str

app = tw.App("kit")
t = app.source(tw.files("in", format="jsonl"), T)
often = tw.toolkits.rates.count_by(t, "k")
often.sink(tw.collect(), name="out")
"""


def install(folder: Path, package: str, entries: str, modules: dict[str, str]) -> None:
    """An installed package, as far as Python needs it."""
    info = folder / f"{package.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[thalweg.toolkits]\n{entries}\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    target = tmp_path / "site"
    target.mkdir()
    install(target, "thalweg-rates", "rates = thalweg_rates_module", {"thalweg_rates_module": MODULE})
    monkeypatch.syspath_prepend(target)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")]))
    yield target
    sys.modules.pop("thalweg_rates_module", None)


def test_a_toolkit_is_loaded_when_it_is_used(folder: Path) -> None:
    assert [t.name for t in installed()] == ["rates"]
    assert "rates" in dir(tw.toolkits)
    assert "thalweg_rates_module" not in sys.modules
    assert tw.toolkits.rates.count_by.__doc__ == "How often each key came."
    assert "thalweg_rates_module" in sys.modules


def test_its_operators_run(folder: Path) -> None:
    work = folder.parent
    (work / "app_of_kit.py").write_text(APP)
    (work / "in").mkdir()
    (work / "in" / "a.jsonl").write_text('{"k": "a"}\n{"k": "b"}\n{"k": "a"}\n')
    done = thalweg("run", "app_of_kit.py", "--engine", "local", "--degree", "2", "--json", cwd=work)
    assert done.returncode == 0, done.stderr
    operators = json.loads(done.stdout.splitlines()[0])["plan"]["operators"]
    assert {o["name"]: o["degree"] for o in operators if o["degree"]} == {"t": 2, "often.counts": 2}
    assert json.loads(done.stdout.splitlines()[-1])["tuples_out"] == {"out": 3}
    shown = thalweg("explain", "app_of_kit.py", cwd=work).stdout
    assert "thalweg_rates_module.py:10, called at app_of_kit.py:9" in shown


def test_an_unknown_toolkit_names_those_that_are_there(folder: Path) -> None:
    with pytest.raises(ToolkitError, match="no toolkit is called rate") as error:
        _ = tw.toolkits.rate
    assert error.value.hint == "did you mean `rates`?"
    assert "test_toolkits.py" in str(error.value.where)
    assert not hasattr(tw.toolkits, "nothing_like_it")


def test_one_that_cannot_be_loaded_reports_the_reason(folder: Path) -> None:
    modules = {"thalweg_broken_module": "import no_such_thing"}
    install(folder, "thalweg-broken", "broken = thalweg_broken_module", modules)
    with pytest.raises(ToolkitError, match="ModuleNotFoundError: No module named 'no_such_thing'") as error:
        _ = tw.toolkits.broken
    assert error.value.found == "thalweg_broken_module of thalweg-broken 1.2"
    findings = {f["what"]: f for f in json.loads(thalweg("doctor", "--json").stdout)}
    assert findings["toolkit rates"]["ok"]
    assert findings["toolkit rates"]["found"] == "thalweg_rates_module of thalweg-rates 1.2"
    assert not findings["toolkit broken"]["ok"]
    assert "no_such_thing" in findings["toolkit broken"]["hint"]


def test_two_of_one_name_are_refused(folder: Path) -> None:
    install(folder, "other-rates", "rates = thalweg_rates_module:count_by", {})
    with pytest.raises(ToolkitError, match="two packages provide a toolkit rates") as error:
        _ = tw.toolkits.rates
    assert error.value.found == "other-rates 1.2, thalweg-rates 1.2"
