"""Packages that only some applications need: without them an error tells what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack

import pytest

import thalweg as tw
from thalweg.cli.metrics import metrics
from thalweg.errors import PackageError


class Number(tw.Tuple):
    n: int


def connect() -> object:
    return tw.postgres("postgresql://host/database", "numbers")


def take_batches() -> object:
    numbers = tw.App("batches").source(tw.files("numbers/", format="csv"), Number)
    return numbers.map_batches(lambda frame: frame, Number, library="polars")


def answer_prometheus() -> object:
    with ExitStack() as stack:
        return stack.enter_context(metrics("app", None, "0"))


@pytest.mark.parametrize(
    ("package", "extra", "use", "feature"),
    [
        ("psycopg", "postgres", connect, "tw.postgres"),
        ("polars", "polars", take_batches, 'map_batches(…, library="polars")'),
        ("prometheus_client", "prometheus", answer_prometheus, "--prometheus"),
    ],
)
def test_a_missing_package_is_an_error_that_names_what_to_install(
    package: str, extra: str, use: Callable[[], object], feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use()
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "thalweg.cli.prometheus", raising=False)
    with pytest.raises(PackageError) as raised:
        use()
    error = raised.value
    assert error.message == f"{feature} needs packages that are not installed"
    assert error.hint == f"pip install 'thalweg[{extra}]'"
    assert package in str(error.found)
    if extra != "prometheus":
        assert error.where is not None
        assert error.where.file == __file__
