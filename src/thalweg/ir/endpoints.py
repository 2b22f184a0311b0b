"""The declarations of an endpoint: where the tuples of a source come from, or where the tuples of a sink go.

Every endpoint is a class in `thalweg.endpoints` that derives from the classes here. Compiler and engines use these
declarations, never the name of an endpoint. The import of a class that lacks a declaration fails. A declaration has a
default only where a wrong one is harmless or fails.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from thalweg.errors import InternalError, Where
from thalweg.ir.completeness import missing_pieces
from thalweg.ir.expr import Expr
from thalweg.ir.types import TupleType

if TYPE_CHECKING:
    from thalweg.ir.operators import Sink, Source

POSITION_COLUMNS = ("_epoch", "_row")  # they identify a tuple for a receiver; no attribute begins with _


@dataclass(frozen=True, slots=True)
class Connector:
    """A Spark connector that is not part of PySpark: its name, its artifact, and the options of a stream to test it."""

    name: str
    artifact: str
    format: str
    trial: Mapping[str, str]


class Endpoint:
    """What sources and sinks have in common."""

    __slots__ = ()

    call: ClassVar[str]  # how users write it: tw.files(…); empty: they do not
    needs_spark: ClassVar[bool]  # only Spark can read or write it
    connector: ClassVar[Connector | None] = None

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if abstract:
            return
        if missing := missing_pieces(cls):
            raise InternalError(f"the endpoint {cls.__name__} does not declare {', '.join(missing)}")
        if issubclass(cls, SourceEndpoint) and not issubclass(cls, (ReadAgain, FedByDriver, FedBySpark)):
            raise InternalError(f"the source {cls.__name__} is not a ReadAgain, FedByDriver or FedBySpark")
        if cls.call:
            _known[cls.call] = cls

    @property
    def title(self) -> str:
        """Its name in error messages."""
        return self.call

    @property
    @abstractmethod
    def folder(self) -> str | None:
        """The folder, or the one file, of the file system that a source's tuples are in, or a sink's files."""


_known: dict[str, type[Endpoint]] = {}  # by call; filled when the endpoints' modules are imported


def known(kind: type) -> list[str]:
    """The calls that make endpoints of this kind."""
    return sorted(call for call, endpoint in _known.items() if issubclass(endpoint, kind))


def written(name: str) -> str:
    """How users write an endpoint, by the name of its class."""
    return next((call for call, endpoint in _known.items() if endpoint.__name__ == name), name)


def any_tuple_type(self: object, tuple_type: TupleType, where: Where) -> None:
    """A `check_source` or `check_sink` that accepts all tuple types."""


# Sources


@dataclass(frozen=True, slots=True)
class Decoding:
    """How records become tuples: by a map after the source, with its own error policy."""

    record: TupleType
    function: Callable[[Any], Any]
    on_error: str
    opaque_because: str


class SourceEndpoint(Endpoint, abstract=True):
    """Where the tuples of a source come from. It derives from one of the three kinds below."""

    __slots__ = ()

    source_row: ClassVar[tuple[str, ...]]  # its row in the table of docs/language.md
    no_sample: ClassVar[str]  # why it cannot be sampled before a run; empty: it can

    @property
    @abstractmethod
    def identity(self) -> str:
        """The properties that must not change at a restart, because the input log refers to them."""

    @property
    @abstractmethod
    def endless(self) -> str | None:
        """If it never ends: how to write one that does."""

    @property
    @abstractmethod
    def concurrent_splits(self) -> int | None:
        """How many splits advance concurrently: if more than one, their order depends on the cuts. None: they are found
        while it runs, and its spool has the split of each row."""

    @property
    @abstractmethod
    def skips_unwanted(self) -> bool:
        """Whether its reader may skip tuples that no operator would see."""

    @property
    @abstractmethod
    def row_policy(self) -> str:
        """The error policy for invalid rows."""

    @property
    @abstractmethod
    def numbered(self) -> Callable[[int], Any] | None:
        """The user's function from a number to a tuple, for a source that generates its tuples."""

    @abstractmethod
    def at_once(self) -> SourceEndpoint:
        """The same endpoint without waiting, for a sample."""

    @abstractmethod
    def check_source(self, tuple_type: TupleType, where: Where) -> None:
        """Raise a GraphError if tuples of this type cannot come from it."""

    # Defaults that are safe: a run waits in vain at most, and raw records do not fit the tuple type.

    @property
    def waits(self) -> bool:
        """Whether it may have no tuple available although it has not ended."""
        return True

    def read_in_vain(self) -> str:
        """What there was to read, if there was no tuple in it."""
        return "its input has no tuples"

    def nothing_to_read(self) -> str | None:
        """If it is known that there is no input at present: what there is instead."""
        return None

    def decoding(self, tuple_type: TupleType, where: Where) -> Decoding | None:
        """How records become tuples, if the endpoint reads records."""
        return None


class ReadAgain(SourceEndpoint, abstract=True):
    """Any process can read it, any number of times."""

    __slots__ = ()

    @abstractmethod
    def splits(self, source: Source) -> Any:
        """The available input: a `Splits` of engine/inputs/readers.py."""

    @abstractmethod
    def reader(self, source: Source, columns: tuple[str, ...], wanted: Expr | None) -> Any:
        """An `InputReader` of these attributes; tuples that are not `wanted` may be skipped."""


class FeederTarget(Protocol):
    """The target of a feeder's tuples. Every call may raise, to stop the feeder."""

    @property
    def tuples(self) -> int:
        """The number of tuples in the spool."""

    def add(self, values: tuple[Any, ...]) -> None: ...

    def skip(self) -> None:
        """Count an invalid item, which is not stored."""

    def wait(self, seconds: float) -> None: ...


class Spooled(SourceEndpoint, abstract=True):
    """Its tuples are stored in a spool, in one sequence, from which epochs take them."""

    __slots__ = ()

    skips_unwanted = False

    def at_once(self) -> SourceEndpoint:
        return self  # what the spool has is there


class FedByDriver(Spooled, abstract=True):
    """It can be read only once: a thread of the driver stores its tuples in a spool, from which epochs take them."""

    __slots__ = ()

    concurrent_splits = 1  # one feeder puts one tuple after another into the spool
    patient: ClassVar[bool]  # whether an epoch waits until it is full, so that cuts do not depend on time

    @abstractmethod
    def feed(self, source: Source, out: FeederTarget, *, follow: bool, limit: int | None = None) -> None:
        """Put its tuples into the spool until it ends, or until there are `limit` of them."""


class FedBySpark(Spooled, abstract=True):
    """A Spark query stores its rows in a spool, from which epochs take them."""

    __slots__ = ()

    batch_order: ClassVar[tuple[str, ...]]  # the columns by which the rows of a batch are sorted; empty: not sorted

    @property
    @abstractmethod
    def split_by(self) -> tuple[str, ...]:
        """The columns whose values are the concurrent split of a row; empty: there is one split."""

    @property
    def concurrent_splits(self) -> int | None:
        return None if self.split_by else 1

    def splits_at(self, offset: str) -> Iterable[tuple[object, ...]]:
        """The splits, as values of `split_by`, in the offset at which Spark ended a batch: also those without rows.
        Without it, a split is known from its first row on."""
        return ()

    @abstractmethod
    def rows(self, max_tuples: int) -> Any:
        """A DataFrame, or the format and the options of the stream to read; batches of at most `max_tuples`."""


# Sinks


@dataclass(frozen=True, slots=True)
class Target:
    """What a sink writes to, exclusively: two sinks with the same place are rejected."""

    place: tuple[object, ...]
    kind: str
    shown: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SinkSite:
    """The sink of a writer. `write_rows` writes a table in a Spark format, on the Spark engine."""

    sink: Sink
    tuple_type: TupleType
    checkpoint: Path
    write_rows: Callable[[Any, str, Mapping[str, str]], None] | None = None

    @property
    def results(self) -> Path:
        """The folder in the checkpoint for the results that the driver returns to the user."""
        return self.checkpoint / "results" / self.sink.name


class SinkEndpoint(Endpoint, abstract=True):
    """Where the tuples of a sink go."""

    __slots__ = ()

    sink_row: ClassVar[tuple[str, ...]]  # its row in the table of docs/language.md; empty: users do not write it
    # Whether readers may have seen an epoch before it runs again and identify its tuples by their places (rows of a
    # file, numbers in a record or line). Then the tuples must have the same places again, even if order is not needed.
    placed: ClassVar[bool]
    shows_order: ClassVar[bool]  # whether the order of the tuples is visible in the output

    @property
    @abstractmethod
    def target(self) -> Target | None:
        """None: any number of sinks may have the same."""

    @abstractmethod
    def writer(self, site: SinkSite) -> Any:
        """A `SinkWriter` of engine/sinks/writers.py."""

    @property
    def feeds(self) -> str | None:
        """The loop whose next tuples these are. (The graph of a loop that nothing feeds is rejected.)"""
        return None

    @abstractmethod
    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        """Raise a GraphError if it cannot take tuples of this type."""
