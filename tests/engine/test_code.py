"""Which modules travel to the workers, and as what."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thalweg.cli.find_app import load_app
from thalweg.engine.spark.modules import code_of, own_code
from thalweg.engine.spark.ship_modules import pack, shipped
from thalweg.errors import ThalwegWarning

FILES = {
    "traveller.py": """
import json
import numpy as np
import thalweg as tw
import neighbour_t
from package_t.inner import deep
try:
    import not_there_at_all
except ImportError:
    pass

class T(tw.Tuple):
    x: int

def late(t):
    import late_t
    return late_t.f(t)

app = tw.App("traveller")
app.source(tw.files("in"), T).filter(late).sink(tw.collect())
""",
    "neighbour_t.py": "import second_t\n",
    "second_t.py": "import neighbour_t  # and back\n",
    "late_t.py": "def f(t):\n    return t.x > 1\n",
    "stranger_t.py": "",
    "package_t/__init__.py": "",
    "package_t/inner/__init__.py": "",
    "package_t/inner/deep.py": "from . import sibling\n",
    "package_t/inner/sibling.py": "import third_t\n",
    "package_t/inner/small.json": "{}",
    "package_t/data/large.csv": "1\n",
    "package_t/__pycache__/x.pyc": "",
    "third_t.py": "",
}
NEEDED = [
    "late_t.py",
    "neighbour_t.py",
    "package_t/__init__.py",
    "package_t/inner/__init__.py",
    "package_t/inner/deep.py",
    "package_t/inner/sibling.py",
    "package_t/inner/small.json",
    "second_t.py",
    "third_t.py",
]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [n for n in sys.modules if n.partition(".")[0].endswith("_t")]:
        monkeypatch.delitem(sys.modules, name)  # another test's
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "traveller.py"


def test_what_the_application_names(app: Path) -> None:
    graph = load_app(str(app)).graph()
    assert [item.place for item in code_of(graph)] == NEEDED
    assert code_of(graph, known=[str(app.parent)]) == ()


def test_native_code_stays(app: Path) -> None:
    (app.parent / "package_t" / "fast.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    graph = load_app(str(app)).graph()
    with pytest.warns(ThalwegWarning, match=r"fast\S* is native code, which is not sent"):
        assert [item.place for item in code_of(graph)] == NEEDED


def test_an_archive_is_named_by_its_content(app: Path, tmp_path: Path) -> None:
    code = code_of(load_app(str(app)).graph())
    first = pack(code, tmp_path / "code", "application")
    assert (first.stat().st_mode | first.parent.stat().st_mode) & 0o077 == 0
    data = first.read_bytes()
    assert pack(code, tmp_path / "code", "application") == first
    assert first.read_bytes() == data
    assert zipfile.ZipFile(first).namelist() == NEEDED
    (app.parent / "third_t.py").write_text("x = 1\n")
    assert pack(code, tmp_path / "code", "application") != first


def test_applications_that_start_at_once_ship_one_after_the_other(app: Path, tmp_path: Path) -> None:
    """The environment of the workers is the process's: each must see its own archive, and leave what was before."""
    code = code_of(load_app(str(app)).graph())
    environment = {"PYTHONPATH": "before"}
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(environment=environment))
    seen: list[str] = []

    def second() -> None:
        with shipped(spark, {"application": code}, tmp_path / "second"):
            seen.append(environment["PYTHONPATH"])

    thread = threading.Thread(target=second)
    with shipped(spark, {"application": code}, tmp_path / "first"):
        thread.start()
        thread.join(0.2)
        assert environment["PYTHONPATH"].startswith(str(tmp_path / "first"))
    thread.join()
    (path,) = seen
    assert path.startswith(str(tmp_path / "second"))
    assert path.endswith(":before")
    assert "first" not in path
    assert environment == {"PYTHONPATH": "before"}


def test_thalweg_runs_from_its_archive(tmp_path: Path) -> None:
    archive = pack(own_code(), tmp_path, "thalweg")
    assert archive.stat().st_size < 1_000_000
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import thalweg.engine.spark.source as s;"
        f"assert s.__file__.startswith({str(archive)!r}), s.__file__"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
