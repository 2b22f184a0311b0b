"""The registries of folds and windows: what is missing fails at import, and what they say of themselves holds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

import thalweg as tw
from tests.properties.check import Outcome, difference, run_local, run_reference
from tests.properties.derived import WINDOWS as WINDOW_NAMES
from tests.properties.derived import _marked, _window, above
from tests.properties.folds import aggregates
from tests.properties.functions import Base
from tests.properties.strategies import cut_all
from thalweg import agg
from thalweg.errors import InternalError
from thalweg.ir.completeness import missing_pieces
from thalweg.ir.folds import Fold
from thalweg.ir.logic import acts_at_end, acts_on_marks
from thalweg.ir.types import BOOL, FLOAT, INT, STR
from thalweg.ir.windows import Window
from thalweg.library.fold_spec import Composed, Definition, FoldSpec, Monoid
from thalweg.library.folds import CONSTRUCTORS, FOLDS
from thalweg.library.folds.sum import FOLDS as SUM
from thalweg.library.folds.sum import sum as agg_sum
from thalweg.library.package_modules import kinds, members
from thalweg.library.window_aggregate import OF_FOLDS, Applied
from thalweg.library.windows import WINDOWS
from thalweg.library.windows.running import Running, RunningAggregate
from thalweg.library.windows.tumbling import Tumbling, TumblingDelta
from thalweg.optimize.passes import make_plan

PARTS = [f.name for f in fields(FoldSpec) if f.name != "name"]


@pytest.mark.parametrize("part", PARTS)
def test_a_fold_without_one_of_its_parts_fails_with_its_name(part: str) -> None:
    given = {name: getattr(SUM[0], name) for name in PARTS if name != part}
    with pytest.raises(InternalError, match=f"the fold sum does not define {part}$"):
        FoldSpec("sum", **given)


def test_a_constructor_is_called_as_its_fold_and_has_a_docstring() -> None:
    with pytest.raises(InternalError, match="the fold total: its constructor must be named total"):
        Composed("total", agg_sum)
    with pytest.raises(InternalError, match=r"the fold <lambda>: .* have a docstring"):
        Composed("<lambda>", lambda: agg.count())


def test_a_module_without_folds_fails_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "somefolds"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kept.py").write_text("FOLDS = [1, 2]")
    monkeypatch.syspath_prepend(tmp_path)
    assert members("somefolds", [str(package)], "FOLDS") == [1, 2]
    (package / "left_out.py").write_text("")
    with pytest.raises(InternalError, match=r"somefolds\.left_out does not define FOLDS"):
        members("somefolds", [str(package)], "FOLDS")


def test_a_window_without_one_of_its_parts_fails_with_its_name() -> None:
    with pytest.raises(InternalError, match="Yearly does not define distance, has_kernel, reads, written, as"):

        @dataclass(frozen=True, slots=True)
        class Yearly(Window):
            marks = None
            acts_at_end = False
            aggregate = Tumbling.aggregate
            apply = Tumbling.apply
            results = Tumbling.results
            __str__ = Tumbling.__str__


WINDOW_PARTS = (
    *("written", "marks", "acts_at_end", "has_kernel", "aggregate", "apply", "results", "reads", "distance"),
    "__str__",
)


@pytest.mark.parametrize("name", WINDOW_PARTS)
@pytest.mark.parametrize("kind", [TumblingDelta, Tumbling, Running])
def test_no_window_may_leave_a_part_out(kind: type[Window], name: str) -> None:
    """Without `reads`, the analysis would not know that a window by delta reads its attribute."""
    parts = {part: vars(kind)[part] for part in WINDOW_PARTS}
    type("Whole", (Window,), parts)
    del parts[name]
    with pytest.raises(InternalError, match=f"Part does not define {name}, as every Window must"):
        type("Part", (Window,), parts)
    assert set(WINDOW_PARTS) == set(missing_pieces(Window))


def test_all_windows_of_the_package_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no list from which one could be left out."""
    package = tmp_path / "somewindows"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "own.py").write_text("class Base: is_family = True\nclass A(Base): pass\nclass B(Base): pass\nx = 1\n")
    (package / "using.py").write_text("from somewindows.own import A, Base\nclass C(A): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    base = import_module("somewindows.own").Base
    assert [kind.__name__ for kind in kinds("somewindows", [str(package)], (base,))] == ["A", "B", "C"]
    (package / "without.py").write_text("from somewindows.own import A\n")
    with pytest.raises(InternalError, match=r"somewindows\.without does not define a class derived from Base"):
        kinds("somewindows", [str(package)], (base,))


def test_functions_of_windows_replace_everything_that_needs_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(name in vars(Applied) for name in OF_FOLDS)
    monkeypatch.delattr(Applied, "reads")
    monkeypatch.delattr(Applied, "code")
    with pytest.raises(InternalError, match="PartApply does not define reads, code: those of aggregates need folds"):
        type("PartApply", (Applied, RunningAggregate), {})


def test_an_unknown_aggregate_is_an_attribute_error_with_a_hint() -> None:
    with pytest.raises(AttributeError, match=r"no aggregate 'summ': did you mean `sum`\?"):
        agg.summ  # type: ignore[attr-defined]  # noqa: B018
    assert {name: getattr(agg, name) for name in CONSTRUCTORS} == CONSTRUCTORS


@pytest.mark.parametrize("kind", WINDOWS)
def test_windows_act_as_declared(kind: type[Window]) -> None:
    for logic in (kind.aggregate(), kind.apply()):
        assert acts_at_end(logic) == kind.acts_at_end
        assert acts_on_marks(logic) == (kind.marks is not None)


# All folds over all windows.

MORE: dict[str, agg.AggregateExpr] = {
    "quantile": agg.quantile("y", 0.3),
    "median": agg.median("x"),
    "argmin": agg.argmin("x", "n"),
    "argmax": agg.argmax("s", "y"),
    "apply": agg.apply(above(1), "n", int),
    "mean": agg.mean("y"),
    "count": agg.count(),
    "collect": agg.collect("x"),
}
BOUNDS = {"window_start": agg.window_start(), "window_end": agg.window_end()}
ALL = {name: made for kind in (INT, FLOAT, STR, BOOL) for name, made in aggregates(kind).items()}
KERNELS = {name: made for kind in (INT, FLOAT, STR, BOOL) for name, made in aggregates(kind, kernel=True).items()}


def test_all_folds_are_tested() -> None:
    tested = {**ALL, **MORE, **BOUNDS}
    assert [name for name in CONSTRUCTORS if not any(made.startswith(name) for made in tested)] == []


def some_tuple(index: int) -> Base:
    drawn = random.Random(index * 7919)
    floats = (0.1, 0.2, -0.0, 0.0, 1e16, -1e16, 1 / 3, float("nan"), float("inf"), 2.5, 7.0, -3.5)
    x, y = drawn.choice(floats), drawn.choice(floats[:3] + floats[9:])
    n, s, k = index // 6 + drawn.randrange(-1, 3), drawn.choice(["", "b", "é", "ab"]), drawn.choice("ab")
    return Base(index, n, x, y, s, k, index % 3 > 0)


@pytest.mark.parametrize("kernels", [False, True], ids=["in Python", "kernels"])
@pytest.mark.parametrize("kind", WINDOW_NAMES)
def test_all_folds_over_all_windows(kind: str, kernels: bool) -> None:
    """Each fold in a field of its own, under plans that cut frames anywhere."""
    made: dict[str, Any] = dict(KERNELS) if kernels else {**ALL, **MORE}
    made |= BOUNDS if "time" in kind and not kernels else {}
    for size, step, by in ((4, 1, ("k",)), (3, 2, ())):
        app = tw.App("folds")
        source = _marked(app.source(tw.beacon(some_tuple, count=60), Base, name="source"), kind, "marked")
        source.aggregate(_window(kind, size, step, by), name="folds", **made).sink(tw.collect(), name="out")
        graph = app.graph()
        epochs = cut_all(graph, 17)
        expected = run_reference(graph, epochs)
        assert expected.error is None
        assert len(expected.answer["out"]) > 3
        for degree, frame_rows in ((1, 1000), (3, 1), (2, 5)):
            plan = make_plan(graph, degree=degree, buckets=5, frame_rows=frame_rows)
            assert difference(expected, run_local(plan, epochs, through_bytes=True)) is None


# What folds say of themselves.


def value(spec: FoldSpec, values: Iterable[Any]) -> Any:
    """By definition, of values in one run."""
    d = spec.definition
    assert isinstance(d, Definition)
    taken = [d.take(v) for v in values]
    fold = Fold(spec.name, None, INT, parameter=0.25, function=lambda values: values[0])
    for newer in taken[1:] if d.step is not None else ():
        taken[0] = d.step(taken[0], newer)  # type: ignore[misc]
    return d.value(taken[0] if d.step is not None else taken, fold)


DEFINED = [spec for spec in FOLDS.values() if isinstance(spec.definition, Definition)]


@pytest.mark.parametrize("spec", DEFINED, ids=lambda spec: spec.name)
def test_only_ordered_folds_depend_on_the_order(spec: FoldSpec) -> None:
    picks = spec.name.startswith("arg")
    values: list[Any] = [(1, "a"), (1, "b"), (1, "c")] if picks else [1, 2, 4]
    results = [value(spec, order) for order in itertools.permutations(values)]
    found = {repr(round(v, 9) if isinstance(v, float) else v) for v in results}
    assert (len(found) > 1) == spec.ordered


def functions_of(owner: object) -> Iterator[FunctionType]:
    parts = [getattr(owner, f.name) for f in fields(owner)]  # type: ignore[arg-type]
    yield from (part for part in parts if isinstance(part, FunctionType))


def reached(function: FunctionType) -> set[str]:
    """The functions of the same module that a function may call, itself included."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        found.add(one.__qualname__)
        names = {name for code in _codes(one.__code__) for name in code.co_names}
        near = [one.__globals__.get(name) for name in names]
        waiting += [
            f
            for f in near
            if isinstance(f, FunctionType)
            and f.__module__ == function.__module__
            and f is not one
            and f.__qualname__ not in found
        ]
    return found - {"<lambda>"}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@pytest.mark.parametrize("spec", DEFINED, ids=lambda spec: spec.name)
def test_the_reference_shares_no_code_with_the_engines(spec: FoldSpec) -> None:
    def all_reached(owner: object) -> set[str]:
        own = [f for f in functions_of(owner) if f.__module__ == spec.constructor.__module__]
        return set[str]().union(*map(reached, own))

    assert all_reached(spec.scalar) & all_reached(spec.definition) == set()


def test_the_reference_does_not_need_the_engines_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every scalar fold broken the reference gives the same answer."""

    def outcome() -> Outcome:
        app = tw.App("folds")
        source = app.source(tw.beacon(some_tuple, count=20), Base, name="source")
        over = _window("sliding", 3, 1, ("k",))
        made: dict[str, Any] = {**ALL, **MORE}
        source.aggregate(over, name="folds", **made).sink(tw.collect(), name="out")
        graph = app.graph()
        return run_reference(graph, cut_all(graph, 7))

    def broken(*arguments: Any) -> Any:
        raise AssertionError("a scalar fold of the engines is called")

    expected = outcome()
    for name, spec in list(FOLDS.items()):
        monkeypatch.setitem(FOLDS, name, replace(spec, scalar=Monoid(broken, broken, broken)))
    assert expected.error is None
    assert difference(expected, outcome()) is None
