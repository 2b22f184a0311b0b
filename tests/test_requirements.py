"""The versions in pyproject.toml, in the lock file and in the list of lowest versions belong together."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDED = [
    Requirement(text)
    for texts in (PROJECT["dependencies"], *EXTRAS.values())
    for text in texts
    if not text.startswith("thalweg[")
]


def pinned(file: str) -> dict[str, Version]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower().replace("_", "-"): Version(version) for name, version in pairs}


def is_of_users(requirement: Requirement) -> bool:
    return str(requirement) not in EXTRAS["dev"]


@pytest.mark.parametrize("requirement", NEEDED, ids=str)
def test_the_lock_file_fits_the_ranges(requirement: Requirement) -> None:
    assert pinned("lock.txt")[requirement.name] in requirement.specifier


@pytest.mark.parametrize("requirement", [r for r in NEEDED if is_of_users(r)], ids=str)
def test_the_lowest_versions_are_those_that_are_tested(requirement: Requirement) -> None:
    (lowest,) = (Version(s.version) for s in requirement.specifier if s.operator == ">=")
    assert pinned("lowest.txt")[requirement.name] == lowest


def test_everything_that_users_may_install_is_tested() -> None:
    assert set(EXTRAS) - {"all", "dev"} == set(re.findall(r"[a-z]+", EXTRAS["all"][0].partition("[")[2]))
