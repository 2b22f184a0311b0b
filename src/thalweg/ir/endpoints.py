"""What an endpoint declares: where the tuples of a source come from, where a sink's tuples go.

Every endpoint is a class in `thalweg.endpoints` that derives from the classes here. Compiler and engines ask these
declarations and know no endpoint by its name. A class that leaves one out fails when it is imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from thalweg.errors import InternalError, Where
from thalweg.ir.expr import Expr
from thalweg.ir.types import TupleType

if TYPE_CHECKING:
    from thalweg.ir.operators import Sink, Source

POSITION_COLUMNS = ("_epoch", "_row")  # how a receiver tells tuples apart; no attribute begins with _


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector of Spark's that is not part of PySpark: its name, its artifact, and a stream to try it with."""

    name: str
    artifact: str
    format: str
    trial: Mapping[str, str]


class Endpoint(ABC):
    """What sources and sinks have in common."""

    __slots__ = ()

    call: ClassVar[str]  # how users write it: tw.files(…); empty: they do not
    needs_spark: ClassVar[bool]  # only Spark can read or write it
    connector: ClassVar[Connector | None] = None

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if abstract:
            return
        if missing := sorted(_missing(cls)):
            raise InternalError(f"the endpoint {cls.__name__} does not declare {', '.join(missing)}")
        if cls.call:
            _known[cls.call] = cls

    @property
    def title(self) -> str:
        """What errors call it."""
        return self.call

    @property
    def folder(self) -> str | None:
        """The folder, or the one file, of the file system that its tuples are in."""
        return None


_known: dict[str, type[Endpoint]] = {}  # by call: an import of its module adds it


def known(kind: type[Endpoint]) -> list[str]:
    """How users write the endpoints of this kind."""
    return sorted(call for call, endpoint in _known.items() if issubclass(endpoint, kind))


def _missing(cls: type[Endpoint]) -> Iterator[str]:
    for base in cls.__mro__:
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if "ClassVar" in str(annotation) and not hasattr(cls, name):
                yield name
    yield from (name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False))


# Sources


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the records that are read become tuples: by a map after the source, under its own error policy."""

    record: TupleType
    function: Callable[[Any], Any]
    on_error: str
    opaque_because: str


class SourceEndpoint(Endpoint, abstract=True):
    """Where the tuples of a source come from. It derives from one of the three kinds below."""

    __slots__ = ()

    source_row: ClassVar[tuple[str, ...]]  # its row in the table of docs/language.md
    no_sample: ClassVar[str]  # why no sample can be read of it before a run; empty: one can

    @property
    @abstractmethod
    def identity(self) -> str:
        """What must not change at a restart for the input log to keep its meaning."""

    @property
    def waits(self) -> bool:
        """Whether it may have no tuple now and yet not have ended."""
        return True

    @property
    def endless(self) -> str | None:
        """If it never ends by itself: how to write one that does."""
        return None

    @property
    def interleaved(self) -> bool:
        """Whether it has several splits that advance together, so that their order depends on the cuts."""
        return False

    @property
    def skips_unwanted(self) -> bool:
        """Whether its reader leaves out tuples that no operator can see."""
        return False

    @property
    def row_policy(self) -> str:
        """What becomes of rows that are not tuples."""
        return "fail"

    @property
    def numbered(self) -> Callable[[int], Any] | None:
        """The user's function that makes the tuple of a number, if that is what it is."""
        return None

    def at_once(self) -> SourceEndpoint:
        """The same without any waiting, for a sample."""
        return self

    def decoding(self, tuple_type: TupleType, where: Where) -> Decoding | None:
        """If records are read first, and tuples are made of them."""
        return None

    def check_source(self, tuple_type: TupleType, where: Where) -> None:
        """Raise a GraphError if tuples of this type cannot come from it."""


class ReadAgain(SourceEndpoint, abstract=True):
    """Any process can read it, any number of times."""

    __slots__ = ()

    @abstractmethod
    def splits(self, source: Source) -> Any:
        """What there is to take: a `Splits` of engine/inputs/readers.py."""

    @abstractmethod
    def reader(self, source: Source, columns: tuple[str, ...], wanted: Expr | None) -> Any:
        """An `InputReader` of these attributes; tuples that are not `wanted` may be left out."""


class FeederTarget(Protocol):
    """Where a feeder puts its tuples. Every call may raise, to stop the feeder."""

    @property
    def tuples(self) -> int:
        """How many were there before this one."""

    def add(self, values: tuple[Any, ...]) -> None: ...

    def wait(self, seconds: float) -> None: ...


class FedByDriver(SourceEndpoint, abstract=True):
    """It can be read once: a thread of the driver stores it in a spool, from which epochs take it."""

    __slots__ = ()

    patient: ClassVar[bool]  # whether an epoch waits for a whole share, so that cuts do not depend on time

    @abstractmethod
    def feed(self, source: Source, out: FeederTarget, *, follow: bool, limit: int | None = None) -> None:
        """Put its tuples into the spool until it ends, or until there are `limit` of them."""


class FedBySpark(SourceEndpoint, abstract=True):
    """A query of Spark's stores its rows in a spool, from which epochs take them."""

    __slots__ = ()

    batch_order: ClassVar[tuple[str, ...]]  # the columns by which the rows of a batch are sorted; none: as they come

    @abstractmethod
    def rows(self, max_tuples: int) -> Any:
        """A DataFrame, or the format and the options of the stream to read; batches of at most `max_tuples`."""


SPOOLED = (FedByDriver, FedBySpark)


# Sinks


@dataclass(frozen=True, slots=True)
class Target:
    """What a sink writes to, alone: two sinks with the same place are refused."""

    place: tuple[object, ...]
    kind: str
    shown: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SinkSite:
    """The sink that a writer writes for. `write_rows` writes a table through a format of Spark's, on that engine."""

    sink: Sink
    tuple_type: TupleType
    checkpoint: Path
    write_rows: Callable[[Any, str, Mapping[str, str]], None] | None = None

    @property
    def results(self) -> Path:
        """The part of the checkpoint for what the driver gives to the user."""
        return self.checkpoint / "results" / self.sink.name


class SinkEndpoint(Endpoint, abstract=True):
    """Where the tuples of a sink go."""

    __slots__ = ()

    sink_row: ClassVar[tuple[str, ...]]  # its row in the table of docs/language.md; empty: users do not write it
    # Whether an epoch that is run again can meet a reader of the first time, who knows its tuples by their places (rows
    # of a file, numbers in a record or line). Then they must have the same ones, also where the order is not wanted.
    placed: ClassVar[bool]
    shows_order: ClassVar[bool]  # whether anyone can see in which order the tuples came

    @property
    @abstractmethod
    def target(self) -> Target | None:
        """None: any number of sinks may have the same."""

    @abstractmethod
    def writer(self, site: SinkSite) -> Any:
        """A `SinkWriter` of engine/sinks/writers.py."""

    @property
    def feeds(self) -> str | None:
        """The loop whose next tuples these are."""
        return None

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        """Raise a GraphError if it cannot take tuples of this type."""
