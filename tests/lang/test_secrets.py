"""Secrets are used and never shown. What Spark keeps of a run is looked through in tests/spark."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.small import contents, thalweg
from thalweg.cli.find_app import load_app
from thalweg.codegen.pe_module import compile_plan
from thalweg.errors import GraphError, ThalwegError, TupleError, summary
from thalweg.explain import explain, explain_json
from thalweg.ir.secret import Secret
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.slow

WORD = "correct-horse-battery"
APP = """
import thalweg as tw
from pathlib import Path

class T(tw.Tuple):
    x: int
    s: str

word = tw.secret("word", help="for the pool")
shown = word.reveal()
app = tw.App("guarded")
t = app.source(tw.files(Path(__file__).parent / "in", format="jsonl"), T)
direct = t.filter(lambda t: t.s != word)
revealed = direct.filter(lambda t: t.s != shown)
address = f"https://{word.reveal()}@host"
derived = revealed.filter(lambda t: t.s != address)
inside = derived.filter(lambda t: len(word.reveal()) > t.x)
inside.sink(tw.files(Path(__file__).parent / "out"), name="out")
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"x": 1, "s": "a"}\n{"x": 21, "s": "b"}\n')
    (tmp_path / "word.txt").write_text(f"{WORD}\n")
    file = tmp_path / f"guarded_{tmp_path.name.replace('-', '_')}.py"
    file.write_text(APP)
    return file


def test_nothing_that_is_printed_or_stored_has_it(app: Path) -> None:
    plan = make_plan(load_app(str(app), {"word": f"@{app.parent}/word.txt"}).graph())
    said = [explain(plan), json.dumps(explain_json(plan)), repr(plan)]
    said += [program.source for stage in compile_plan(plan) for program in stage]
    assert all(WORD not in text for text in said)
    assert "word = ***" in said[0]
    # None of the four functions was read into an expression.
    assert said[0].count("row by row") == 4


@pytest.mark.parametrize("where", ["option", "environment"])
def test_a_run_uses_it_and_leaves_no_trace(app: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["run", app.name, "--engine", "local", "--checkpoint", "state", "--json"]
    if where == "option":
        options += ["--param", "word=@word.txt"]
    else:
        monkeypatch.setenv("THALWEG_PARAM_WORD", WORD)
    done = thalweg(*options, cwd=app.parent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["tuples_out"] == {"out": 1}
    assert WORD not in done.stdout + done.stderr
    stored = contents(app.parent / "state") | contents(app.parent / "out")
    assert stored
    assert all(WORD.encode() not in data for data in stored.values())
    assert json.loads(stored["state/manifest.json"])["params"] == {"word": "***"}


def test_errors_do_not_show_it(app: Path) -> None:
    app.write_text(APP.replace("len(word.reveal()) > t.x", "[][word.reveal()]"))
    done = thalweg("run", app.name, "--engine", "local", "--param", f"word={WORD}", cwd=app.parent)
    assert done.returncode == 1
    assert "tuple error: TypeError" in done.stderr
    app.write_text(APP.replace("len(word.reveal()) > t.x", "{}[str(word.reveal())]"))
    done = thalweg("run", app.name, "--engine", "local", "--param", f"word={WORD}", cwd=app.parent)
    assert "tuple error: KeyError: '***'" in done.stderr
    assert WORD not in done.stdout + done.stderr


def test_a_secret_is_not_an_attribute(app: Path) -> None:
    """A tuple takes exactly str: what goes into a stream by accident is refused, and not shown."""
    tail = "inside.map(lambda t: {'x': 1, 's': word.reveal()}, T).sink(tw.collect(), name='leak')\n"
    app.write_text(APP + tail)
    done = thalweg("run", app.name, "--engine", "local", "--param", f"word={WORD}", cwd=app.parent)
    assert "s: expected str, found _Revealed (***)" in done.stderr
    assert WORD not in done.stdout + done.stderr


class Pool(tw.Operator):
    def __init__(self, options: object) -> None:
        self.options = options

    def process(self, t: Any, port: int) -> None:
        self.submit(t)


class Row(tw.Tuple):
    x: int


def test_a_secret_is_not_state() -> None:
    """In an attribute of its own it follows the program. Inside other state it would be stored, which is refused."""
    app = tw.App("pool")
    rows = app.source(tw.iterable([Row(1)]), Row)
    rows.custom(Pool(Secret("stable-horse")), Row, by="x").sink(tw.collect(), name="a")
    rows.custom(Pool(Secret("stable-horse").reveal()), Row, by="x").sink(tw.collect(), name="b")
    for options in ({"word": Secret("stable-horse")}, [Secret("stable-horse").reveal()]):
        with pytest.raises(GraphError, match="cannot be stored: options cannot be pickled") as error:
            rows.custom(Pool(options), Row, by="x")
        assert error.value.found == (
            "PicklingError: it has a secret; a secret in an attribute of its own is not stored"
        )


def test_its_file_must_be_there(app: Path) -> None:
    with pytest.raises(GraphError, match="parameter word: its file cannot be read: No such file"):
        load_app(str(app), {"word": "@nowhere.txt"})
    with pytest.raises(GraphError, match="parameter word: wrong type") as error:
        load_app(str(app), {"word": 12345678})
    assert "12345678" not in str(error.value)


def test_the_object() -> None:
    secret = Secret("another-horse")
    assert (repr(secret), str(secret), f"{secret}") == ("***", "***", "***")
    assert secret == Secret("another-horse")
    assert secret != Secret("a horse")
    assert secret.reveal() == "another-horse"
    assert f"user:{secret.reveal()}" == "user:another-horse"
    assert repr(secret.reveal()) == "***"
    sent = pickle.loads(pickle.dumps([secret, secret.reveal()]))
    assert sent == [secret, "another-horse"]
    assert repr(sent) == "[***, ***]"
    with pytest.raises(TypeError):
        hash(secret)


def test_every_error_is_redacted() -> None:
    Secret("hidden-horse")
    Secret("hidden-horse-and-cart")
    error = TupleError(
        "a hidden-horse", expected="hidden-horse", found="hidden-horse-and-cart!", hint="no hidden-horse"
    )
    assert error.as_json()["message"] == "a ***"
    assert (error.expected, error.found, error.hint) == ("***", "***!", "no ***")
    assert "horse" not in str(ThalwegError("hidden-horse"))


def test_it_is_hidden_as_a_literal_too() -> None:
    word = "h'or\"se\\in-the-dürk"
    Secret(word)
    plain = f"a {word}"
    nested = [repr(plain), ascii(plain), json.dumps(plain), json.dumps([plain], ensure_ascii=False), repr(repr(plain))]
    for text in (plain, *nested, summary(KeyError(plain)), repr(word + word)):
        assert "se" not in str(ThalwegError(text)), text
