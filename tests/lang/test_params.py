"""Run parameters: where values come from, what they may be, and that a missing one is one clear error."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg.cli.find_app import load_app
from thalweg.errors import GraphError, InputError
from thalweg.ir.operators import Filter
from thalweg.load import with_params

HEAD = "import datetime as dt\nfrom pathlib import Path\nimport thalweg as tw\n\nclass T(tw.Tuple):\n    x: float\n\n"
TAIL = """
app = tw.App("app")
t = app.source(tw.files("nowhere"), T)
t.sink(tw.collect(), name="out")
"""


def write(folder: Path, declarations: str, tail: str = TAIL) -> str:
    file = folder / f"{folder.name}.py"
    file.write_text(f"{HEAD}{declarations}\n{tail}")
    return str(file)


def value(folder: Path, declaration: str, **params: object) -> Any:
    app = load_app(write(folder, f"value = {declaration}"), params)
    return app._scope.declared[folder.name, "p"].value


CONVERSIONS: dict[str, tuple[str, object, object]] = {
    "float": ("tw.param('p', default=1.0)", "2.5", 2.5),
    "float of an int": ("tw.param('p', default=1.0)", 2, 2.0),
    "int": ("tw.param('p', type=int)", "-7", -7),
    "text": ("tw.param('p')", "a=b", "a=b"),
    "true": ("tw.param('p', default=False)", "Yes", True),
    "false": ("tw.param('p', default=True)", "off", False),
    "path": ("tw.param('p', type=Path)", "a/b", Path("a/b")),
    "path of a path": ("tw.param('p', default=Path('x'))", Path("a/b"), Path("a/b")),
    "time": ("tw.param('p', type=dt.datetime)", "2024-05-01T12:30", dt.datetime(2024, 5, 1, 12, 30)),
    "date": ("tw.param('p', type=dt.date)", "2024-05-01", dt.date(2024, 5, 1)),
    "text by default": ("tw.param('p', default=None)", "x", "x"),
}


@pytest.mark.parametrize("case", CONVERSIONS)
def test_values_are_converted(tmp_path: Path, case: str) -> None:
    declaration, given, expected = CONVERSIONS[case]
    found = value(tmp_path, declaration, p=given)
    assert (found, type(found)) == (expected, type(expected))


MISFITS: dict[str, tuple[str, object, str]] = {
    "float": ("tw.param('p', default=1.0)", "much", "float"),
    "int of a float": ("tw.param('p', type=int)", "2.5", "int"),
    "int of a bool": ("tw.param('p', type=int)", True, "int"),
    "bool": ("tw.param('p', type=bool)", "perhaps", "bool"),
    "time": ("tw.param('p', type=dt.datetime)", "noon", "datetime"),
    "text of a number": ("tw.param('p')", 3, "str"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_misfit_names_the_parameter(tmp_path: Path, case: str) -> None:
    declaration, given, expected = MISFITS[case]
    with pytest.raises(GraphError, match="parameter p") as error:
        value(tmp_path, declaration, p=given)
    assert error.value.expected == expected
    assert str(given) in str(error.value.found)
    assert str(error.value.where).endswith(f"{tmp_path.name}.py:8")


def test_given_wins_over_the_environment_and_that_over_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value(tmp_path, "tw.param('p', default=1)") == 1
    monkeypatch.setenv("THALWEG_PARAM_P", "2")
    assert value(tmp_path, "tw.param('p', default=1)") == 2
    assert value(tmp_path, "tw.param('p', default=1)", p="3") == 3
    monkeypatch.setenv("THALWEG_PARAM_P", "two")
    with pytest.raises(GraphError, match="parameter p, from THALWEG_PARAM_P"):
        value(tmp_path, "tw.param('p', default=1)")


MISSING = """
limit = tw.param("limit", type=float, help="the highest x")
folder = tw.param("folder", type=Path, help="the folder of the tuples")
word = tw.secret("word", help="to log in")
known = tw.param("known", default=3)
"""
USES = {
    "nowhere": TAIL,
    "in a function": TAIL + "t.filter(lambda t: t.x < limit).sink(tw.collect())\n",
    "in a map whose type is then unknown": TAIL + "t.map(lambda t: {'x': t.x * limit}).sink(tw.collect())\n",
    "as a path": TAIL.replace('"nowhere"', "folder"),
    "in arithmetic": TAIL + "twice = limit * 2\n",
    "as a truth": TAIL + "if limit:\n    pass\n",
    "in a comparison": TAIL + "assert limit == 3\n",
    "revealed": TAIL + "word.reveal()\n",
}


@pytest.mark.parametrize("use", USES)
def test_all_missing_ones_are_listed_at_once_however_they_are_used(tmp_path: Path, use: str) -> None:
    with pytest.raises(GraphError, match="these parameters have no value: limit, folder, word") as error:
        load_app(write(tmp_path, MISSING, USES[use]))
    for line in ("limit (float): the highest x", "folder (path): the folder of the tuples", "word (secret): to log in"):
        assert line in str(error.value.expected)
    assert error.value.hint == "--param limit=…, or THALWEG_PARAM_LIMIT in the environment"


def test_an_unknown_parameter(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="no such parameter: limt") as error:
        load_app(write(tmp_path, "limit = tw.param('limit', default=1)"), {"limt": "2"})
    assert error.value.hint == "did you mean `limit`?"


BAD = {
    "name": ("tw.param('two words', default=1)", "bad parameter name"),
    "type": ("tw.param('p', type=list)", "parameter p has an unknown type"),
    "default": ("tw.param('p', default='x', type=int)", "default of parameter p"),
    "twice": ("tw.param('p', default=1); tw.param('q', default=1)\ntw.param('p', default=2)", "two parameters"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_declarations(tmp_path: Path, case: str) -> None:
    declaration, message = BAD[case]
    with pytest.raises(GraphError, match=message) as error:
        load_app(write(tmp_path, declaration))
    assert error.value.where is not None


def test_a_parameter_is_read_like_a_literal(tmp_path: Path) -> None:
    tail = TAIL + "low = t.filter(lambda t: t.x < limit)\nlow.sink(tw.collect())\n"
    graph = load_app(write(tmp_path, "limit = tw.param('limit', default=1.0)", tail), {"limit": "2.5"}).graph()
    low = graph.by_name["low"]
    assert isinstance(low, Filter)
    assert low.function.fingerprint() == "(< .x 2.5)"
    assert graph.params == (("limit", "2.5"),)


def test_a_helper_module_may_not_declare_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker imports the helper again, without the run's values: the answer would depend on the engine."""
    (tmp_path / "helper_with_param.py").write_text("import thalweg as tw\nlimit = tw.param('limit', default=1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GraphError, match="limit is declared outside of the application's module") as error:
        load_app(write(tmp_path, "import helper_with_param"), {})
    assert "helper_with_param.py:2" in str(error.value.where)


def test_an_imported_application_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was imported keeps its values; a `__main__` part does not run again."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"imported_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(f"{HEAD}limit = tw.param('limit', default=1.0)\n{TAIL}")
    module = __import__(name)
    again = with_params(module.app, {"limit": 2})
    assert (module.limit, module.app.graph().params) == (1.0, (("limit", "1.0"),))
    assert again.graph().params == (("limit", "2.0"),)
    assert __import__(name) is module
    with pytest.raises(InputError):  # it got as far as its source, which is nowhere
        tw.run(module.app, engine="local", params={"limit": 3.0})
    with pytest.raises(GraphError, match="no such parameter: limits"):
        tw.run(module.app, engine="local", params={"limits": 3.0})


def test_an_application_that_cannot_be_rebuilt_is_an_error() -> None:
    app = tw.App("local")
    with pytest.raises(GraphError, match="cannot be rebuilt with different parameters") as error:
        tw.run(app, engine="local", params={"limit": 1})
    assert "test_params.py" in str(error.value.where)


def test_an_application_that_runs_itself(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="run while its module is being loaded"):
        load_app(write(tmp_path, "", TAIL + "tw.run(app, engine='local')\n"))
