"""Clusters: code that is installed nowhere reaches executors that have only the dependencies, and executors may die.

The workers' Python cannot import Thalweg, and the environment names no path to it or to the application.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.small import thalweg
from tests.spark.clusters import Bare
from tests.spark.shop import EPOCHS, Shop

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    return Bare.make(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the local engine writes."""
    shop = Shop.make(tmp_path_factory.mktemp("local"))
    ran = thalweg("run", *shop.arguments, "--engine", "local")
    assert ran.returncode == 0, ran.stderr
    assert len(shop.output()) == 2 * (EPOCHS + 1)
    return shop.output()


def test_executors_and_workers_die_in_a_local_cluster(bare: Bare, expected: dict[str, bytes], tmp_path: Path) -> None:
    """An executor with the state of a channel, one that reads, and a Python worker of each kind."""
    shop = Shop.make(tmp_path / "shop")
    kills = {
        "first": ("stateful", 30, "executor"),
        "second": ("stateless", 55, "worker"),
        "third": ("stateful", 80, "worker"),
        "fourth": ("stateless", 105, "executor"),
    }
    (shop.folder / "kill").write_text(json.dumps(kills))
    said = tmp_path / "said"
    run = bare.run("local-cluster[2,1,1024]", *shop.arguments, said=said, env={"SHOP": str(shop.folder)})
    assert run.wait() == 0, said.read_text()
    assert all((shop.folder / name).exists() for name in kills), "not everybody was killed"
    assert shop.output() == expected


def test_a_standalone_master_with_two_workers(bare: Bare, expected: dict[str, bytes], tmp_path: Path) -> None:
    shop = Shop.make(tmp_path / "shop")
    said = tmp_path / "said"
    with bare.standalone() as master:
        assert bare.run(master, *shop.arguments, said=said).wait() == 0, said.read_text()
        assert shop.output() == expected
