"""Where streams come from and go to."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir.endpoints import (
    OWNER_FILE,
    Beacon,
    Collect,
    Console,
    Discard,
    Files,
    Items,
    Postgres,
    SinkEndpoint,
    SourceEndpoint,
    Tcp,
)
from thalweg.ir.operators import POLICIES
from thalweg.ir.row_endpoints import Kafka, SparkFormat, SparkFrame
from thalweg.ir.types import STR, TupleType
from thalweg.lang.databases import check_table
from thalweg.lang.endpoint_checks import one_of, positive, require
from thalweg.lang.source_place import call_place, user_frame

FORMATS = ("parquet", "csv", "jsonl", "arrow")
LINE_FORMATS = ("jsonl", "csv", "text")
NAMES: dict[type, str] = {
    Files: "tw.files(…)",
    Beacon: "tw.beacon(…)",
    Items: "tw.iterable(…)",
    Tcp: "tw.tcp(…)",
    Postgres: "tw.postgres(…)",
    Kafka: "tw.kafka(…)",
    SparkFormat: "tw.spark(…)",
    SparkFrame: "tw.from_dataframe(…)",
    Collect: "tw.collect()",
    Console: "tw.console()",
    Discard: "tw.none()",
}
SOURCES = (Files, Beacon, Items, Tcp, Kafka, SparkFormat, SparkFrame)
SINKS = (Files, Collect, Console, Tcp, Postgres, Kafka, Discard)


def files(path: str | Path, *, format: str = "parquet", on_error: str = "fail") -> Files:
    """A folder of files. As a source: taken in order of name, a new file behind all that were taken before.

    `on_error` says what becomes of rows that are no tuples: they stop the run (fail), are left out and counted (skip),
    or go to the source's `dead_letters` (dead_letter).
    """
    one_of("file format", format, FORMATS)
    one_of("on_error", on_error, POLICIES)
    return Files(str(path), format, on_error=on_error)


def beacon(
    function: Callable[[int], Any], *, count: int | None = None, shards: int = 1, rate: float | None = None
) -> Beacon:
    """A source of the tuples `function(0)`, `function(1)`, …: `count` of them, or endless (with --follow).

    The function must give the same tuple for the same number, always: a restart calls it again. With `shards` the
    numbers are dealt to as many splits that advance side by side; `rate` is in tuples per second.
    """
    require(callable(function), "beacon: not a function", "a function of the tuple's number", function)
    good_count = count is None or (type(count) is int and count >= 0)
    require(good_count, "beacon: bad count", "0 or more, or None for an endless one", count)
    require(type(shards) is int and shards >= 1, "beacon: bad number of shards", "1 or more", shards)
    require(rate is None or positive(rate), "beacon: bad rate", "tuples per second, more than 0", rate)
    return Beacon(function, count, shards, rate)


def seeded(seed: int | str, index: int) -> random.Random:
    """Random numbers for the tuple of this number: the same in every process and at every restart."""
    return random.Random(f"{seed}/{index}")


def iterable(items: Iterable[Any] | Callable[[], Iterable[Any]]) -> Items:
    """A source of what `items`, or what the iterable that `items()` returns, yields: dicts or tuples."""
    if isinstance(items, Iterator):
        raise GraphError(
            "an iterator can be read only once, but a restart reads it again from its beginning",
            where=call_place(user_frame()),
            expected="a list or the like, or a function that returns a new iterator",
            found=repr(items),
            hint="give the generator function itself, without calling it; or lambda: …",
        )
    good = isinstance(items, Iterable) or callable(items)
    require(good, "iterable: nothing to iterate over", "an iterable, or a function that returns one", items)
    return Items(items)


def tcp(
    host: str,
    port: int,
    *,
    format: str = "jsonl",
    listen: bool = False,
    on_error: str = "fail",
    retry_s: float = 10.0,
) -> Tcp:
    """Lines over TCP. A source connects to a server, or listens and waits for a client; a sink connects."""
    require(isinstance(host, str) and host != "", "tcp: bad host", "a name or an address", host)
    require(type(port) is int and 0 < port < 65536, "tcp: bad port", "1 to 65535", port)
    one_of("line format", format, LINE_FORMATS)
    require(type(listen) is bool, "tcp: bad value of listen", "True or False", listen)
    one_of("on_error", on_error, ("fail", "skip"))
    require(positive(retry_s), "tcp: bad retry_s", "seconds, more than 0", retry_s)
    return Tcp(host, port, format, listen, on_error, retry_s)


def exported(name: str, tuple_type: TupleType, where: Where) -> Files:
    """Where applications meet: a folder of Arrow files by name, below `exports/` or what THALWEG_EXPORTS names.

    Who writes there says in it of which type; so another type is refused before anything runs.
    """
    check_export(name, where)
    folder = Path(os.environ.get("THALWEG_EXPORTS", "exports")) / name
    owner = folder / OWNER_FILE
    found = json.loads(owner.read_bytes()).get("type") if owner.exists() else None
    if found is not None and found != tuple_type.shown:
        raise GraphError(
            f"the exported stream {name} has another type", where=where, expected=found, found=tuple_type.shown
        )
    return Files(str(folder), "arrow", exported=True)


def check_export(name: str, where: Where) -> None:
    good = isinstance(name, str) and name and all(c.isalnum() or c in "-_." for c in name) and name[0] not in "._"
    if not good:
        raise GraphError("bad name of an export", where=where, expected="letters, digits, - _ .", found=repr(name))


def collect() -> Collect:
    """A sink whose tuples the caller of `app.run` gets back."""
    return Collect()


def console(rows: int | None = 20, *, live: bool = False, key: str | Iterable[str] = ()) -> Console:
    """A sink that prints the first tuples of each epoch; None: all.

    With `live`, on a terminal: a table that is kept up to date, of the last tuples, or with `key` of the last tuple of
    each key. Elsewhere it prints as always.
    """
    require(rows is None or (type(rows) is int and rows >= 1), "console: bad number of rows", "1 or more", rows)
    require(type(live) is bool, "console: bad value of live", "True or False", live)
    by = (key,) if isinstance(key, str) else tuple(key)
    require(live or not by, "console: a key without a live table", "console(live=True, key=…)", by)
    return Console(rows, live, by)


def none() -> Discard:
    """A sink that only counts its tuples, for benchmarks."""
    return Discard()


def check_source(endpoint: SourceEndpoint, tuple_type: TupleType, where: Where) -> None:
    if not isinstance(endpoint, SOURCES):
        name = NAMES.get(type(endpoint))
        raise GraphError(
            "not a source",
            where=where,
            expected=" or ".join(NAMES[kind] for kind in SOURCES),
            found=name or repr(endpoint),
            hint=f"{name} is a sink: stream.sink({name})" if name else None,
        )
    if isinstance(endpoint, Files):
        _check_format(endpoint, tuple_type, where)
    if isinstance(endpoint, Tcp) and endpoint.format == "text" and [t for _, t in tuple_type.attributes] != [STR]:
        raise GraphError(
            "a line of text is one string",
            where=where,
            expected="a tuple type with a single attribute, of type str",
            found=str(tuple_type),
        )


def check_sink(endpoint: SinkEndpoint, tuple_type: TupleType, where: Where) -> None:
    if not isinstance(endpoint, SINKS):
        name = NAMES.get(type(endpoint))
        raise GraphError(
            "not a sink",
            where=where,
            expected=" or ".join(NAMES[kind] for kind in SINKS),
            found=name or repr(endpoint),
            hint=f"{name} is a source: app.source({name}, Type)" if name else None,
        )
    if isinstance(endpoint, Files):
        _check_format(endpoint, tuple_type, where)
        if endpoint.on_error != "fail":
            raise GraphError(
                "a sink reads nothing that could be bad",
                where=where,
                expected="tw.files(…) without on_error",
                found=f"on_error={endpoint.on_error!r}",
                hint="on_error= of the operator before decides about tuples on which it fails",
            )
    if isinstance(endpoint, Console):
        for name in endpoint.key:
            if tuple_type.get(name) is None:
                raise GraphError(
                    f"console: no attribute {name}",
                    where=where,
                    expected=str(tuple_type),
                    hint=did_you_mean(name, tuple_type.names),
                )
    if isinstance(endpoint, Postgres):
        check_table(endpoint, tuple_type, where)
    if isinstance(endpoint, Tcp) and (endpoint.format, endpoint.listen, endpoint.on_error) != ("jsonl", False, "fail"):
        raise GraphError(
            "a tcp sink connects to a server and sends JSON lines",
            where=where,
            expected="tw.tcp(host, port), without format, listen and on_error",
            found=f"format={endpoint.format!r}, listen={endpoint.listen}, on_error={endpoint.on_error!r}",
        )


def _check_format(endpoint: Files, tuple_type: TupleType, where: Where) -> None:
    """Refuse a format that cannot hold a type."""
    if endpoint.format == "csv" and [kind.optional for _, kind in tuple_type.attributes] == [True]:
        raise GraphError(
            f"csv cannot hold {tuple_type} alone",
            where=where,
            expected="an attribute that is never None",
            hint="a tuple of None alone would be an empty line, which a reader skips",
        )
    for name, kind in tuple_type.attributes:
        if endpoint.format == "csv" and kind.composite:
            raise GraphError(
                f"csv cannot hold {name}: {kind}",
                where=where,
                expected="attributes without parts",
                found=str(tuple_type),
                hint='format="parquet" or "jsonl" holds lists and nested tuples',
            )
