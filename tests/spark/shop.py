"""An application of several files, of which nothing is installed, for tests on clusters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.small import contents

FILES = {
    "shop.py": """
from pathlib import Path

import thalweg as tw
from pricing import Sale
from pricing.fees import with_fee
from totals import Total, remember

HERE = Path(__file__).parent

app = tw.App("shop")
sales = app.source(tw.files(HERE / "sales", format="jsonl"), Sale)
priced = sales.map(with_fee, Sale)
totals = priced.custom(remember, Total, by="shop")
totals.filter(lambda t: t.count % 2 == 0).sink(tw.files(HERE / "out", format="jsonl"), name="even")
totals.sink(tw.collect(), name="all")
""",
    "totals.py": """
from dataclasses import dataclass

import thalweg as tw
from mishaps import mishap
from pricing import Sale


class Total(tw.Tuple):
    shop: str
    count: int
    cents: int


@dataclass
class Seen:
    count: int = 0
    cents: int = 0


def remember(sale: Sale, seen: Seen | None, submit):
    mishap("stateful", sale.number)
    seen = seen or Seen()
    seen = Seen(seen.count + 1, seen.cents + sale.cents)
    submit(Total(sale.shop, seen.count, seen.cents))
    return seen
""",
    # Kills, once each: the file `kill` names the process, the operator and the tuple.
    "mishaps.py": """
import json
import os
import signal
from pathlib import Path


def mishap(operator, number):
    place = Path(os.environ.get("SHOP", "/nowhere")) / "kill"
    if not place.exists():
        return
    for name, (where, at, victim) in json.loads(place.read_text()).items():
        if (operator, number) == (where, at):
            strike(place.with_name(name), victim)


def strike(done, victim):
    try:
        done.touch(exist_ok=False)
    except FileExistsError:
        return
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill({"worker": os.getpid(), "executor": executor}[victim], signal.SIGKILL)
    signal.pause()
""",
    "pricing/__init__.py": """
import thalweg as tw


class Sale(tw.Tuple):
    number: int
    shop: str
    cents: int
""",
    "pricing/fees.py": """
from pricing import Sale


def with_fee(sale):
    from mishaps import mishap  # only where it is needed
    from pricing.table import fee_of

    mishap("stateless", sale.number)
    return Sale(sale.number, sale.shop, sale.cents + fee_of(sale.shop))
""",
    "pricing/table.py": """
import json
from importlib import resources

_FEES = json.loads(resources.files("pricing").joinpath("fees.json").read_text())


def fee_of(shop):
    return _FEES[shop]
""",
    "pricing/fees.json": json.dumps({f"shop{n}": n * 7 for n in range(5)}),
    "unrelated.py": "raise AssertionError('this must not be imported')\n",
}
ROWS, SPLITS, PER_EPOCH = 40, 3, 24
EPOCHS = 5  # and the final one


@dataclass(frozen=True)
class Shop:
    folder: Path

    @staticmethod
    def make(folder: Path) -> Shop:
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "sales").mkdir()
        for split in range(SPLITS):
            numbers = range(split * ROWS, (split + 1) * ROWS)
            rows = [{"number": n, "shop": f"shop{n * n % 5}", "cents": n * 31 % 97} for n in numbers]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / "sales" / f"{split}.jsonl").write_text(text)
        return Shop(folder)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def arguments(self) -> tuple[str, ...]:
        fixed = ("--checkpoint", str(self.checkpoint), "--max-tuples-per-epoch", str(PER_EPOCH), "--degree", "2")
        return str(self.folder / "shop.py"), *fixed

    def output(self) -> dict[str, bytes]:
        found = contents(self.folder / "out") | contents(self.checkpoint / "results")
        return {name: data for name, data in found.items() if not name.endswith("_thalweg.json")}
