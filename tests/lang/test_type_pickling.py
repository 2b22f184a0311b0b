"""Tuple types are sent to workers, which cannot import the user's module: a class is then sent in parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from thalweg.cli.find_app import load_app
from thalweg.engine.core.user_modules import pickled

MODULE = """
import thalweg as tw


class A(tw.Tuple):
    a: int


class B(tw.Tuple):
    b: float

    def twice(self):
        return self.b * 2


class C(A, B):
    c: str


D = tw.concat("D", A, B)
app = tw.App("app")
"""
WORKER = """
import pickle, sys

C, D = pickle.loads(sys.stdin.buffer.read())
c = C(1, 0.5, c="x")
print(c, c.twice(), C.tuple_type, D(1, 2.5), D.tuple_type)
"""


def test_classes_with_several_bases(tmp_path: Path) -> None:
    (tmp_path / "travelling.py").write_text(MODULE)
    load_app(str(tmp_path / "travelling.py"))
    module = sys.modules["travelling"]
    sent = pickled((module.C, module.D))
    done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True)
    assert done.stdout.decode().strip() == (
        "C(a=1, b=0.5, c='x') 1.0 C(a: int, b: float, c: str) D(a=1, b=2.5) D(a: int, b: float)"
    )
