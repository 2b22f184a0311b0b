"""Endpoints: where the tuples of a source come from, and where a sink's tuples go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from thalweg.ir.row_endpoints import Kafka, RowSource, SparkFormat, SparkFrame, row_identity
from thalweg.ir.types import TupleType

POSITION_COLUMNS = ("_epoch", "_row")  # no attribute begins with _
OWNER_FILE = "_thalweg.json"  # in a sink's folder: whose it is, and of which type


@dataclass(frozen=True, slots=True)
class Files:
    """A file endpoint: a folder (or, for a source, one file) and its format."""

    path: str
    format: str
    exported: bool = False  # a folder in which applications meet: it may not be there yet
    on_error: str = "fail"  # of a source: what becomes of rows that are no tuples


@dataclass(frozen=True, slots=True)
class Beacon:
    """A generator: row r of shard s is the tuple `function(s + r * shards)`. Any range can be made again."""

    function: Callable[[int], Any] = field(hash=False, repr=False)  # its address in a repr would be another in each run
    count: int | None  # None: endless
    shards: int = 1
    rate_per_s: float | None = None

    def rows(self, shard: int) -> int | None:
        """How many rows a shard has; None: endless."""
        return None if self.count is None else len(range(shard, self.count, self.shards))

    def index(self, shard: int, row: int) -> int:
        return shard + row * self.shards


@dataclass(frozen=True, slots=True)
class Items:
    """What a Python iterable yields, or what a function without arguments returns. It stays in the driver."""

    items: Any = field(compare=False, repr=False)

    def __reduce__(self) -> tuple[type[Items], tuple[None]]:
        """Workers read the spool: a generator, or a list of a million items, must not travel to them."""
        return Items, (None,)


@dataclass(frozen=True, slots=True)
class Tcp:
    """Lines over a connection. As a sink: JSON lines."""

    host: str
    port: int
    format: str = "jsonl"
    listen: bool = False
    on_error: str = "fail"
    retry_s: float = 10.0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class Hidden(Protocol):
    """A text that is never shown: a `tw.Secret`."""

    def reveal(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Postgres:
    """A sink that appends to a table of a PostgreSQL database. `shown` names the server without what is secret."""

    dsn: Hidden = field(hash=False, repr=False)
    table: str  # perhaps with its schema
    shown: str
    create: bool = True
    position: bool = False
    retry_s: float = 60.0

    def columns(self, tuple_type: TupleType) -> tuple[str, ...]:
        return (*tuple_type.names, *(POSITION_COLUMNS if self.position else ()))


@dataclass(frozen=True, slots=True)
class Collect:
    """A sink that keeps its tuples for whoever started the run."""


@dataclass(frozen=True, slots=True)
class Console:
    """A sink that prints the first tuples of each epoch; None: all. Live, on a terminal: a table of the last ones, or
    of the last one of each key."""

    rows: int | None
    live: bool = False
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Discard:
    """A sink that only counts its tuples."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The end of a loop: tuples that come back as those of a feedback operator in the next epoch."""

    into: str


SourceEndpoint = Files | Beacon | Items | Tcp | RowSource
SinkEndpoint = Files | Collect | Console | Tcp | Postgres | Kafka | Discard | Feed

# What must be read as it comes, and stored before an epoch takes it.
SPOOLED = (Items, Tcp)


def identity(endpoint: SourceEndpoint) -> str:
    """What must not change at a restart for the input log to keep its meaning."""
    match endpoint:
        case Files():
            return "files"
        case Beacon(shards=shards):
            return "beacon" if shards == 1 else f"beacon of {shards} shards"
        case Items():
            return "iterable"
        case Tcp():
            return "tcp"
        case SparkFormat() | SparkFrame() | Kafka():
            return row_identity(endpoint)
