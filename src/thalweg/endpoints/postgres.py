"""`tw.postgres`: a table of a PostgreSQL database as a sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from thalweg.endpoints.checks import require
from thalweg.errors import GraphError, Where, hide
from thalweg.extras import extra
from thalweg.ir.arguments import Seconds, checked, choice
from thalweg.ir.endpoints import POSITION_COLUMNS, SinkEndpoint, SinkSite, Target
from thalweg.ir.secret import Secret
from thalweg.ir.types import TupleType
from thalweg.ir.user_calls import call_place, user_frame

if TYPE_CHECKING:
    from thalweg.endpoints.postgres_writer import PostgresSink

_LONGEST_NAME = 63  # bytes; PostgreSQL silently truncates longer ones
_LEAST_SECRET = 4  # characters; hiding a shorter password would garble most messages


@checked
def postgres(
    dsn: str | Secret,
    table: str,
    *,
    mode: Annotated[str, choice("append")] = "append",
    create: bool = True,
    position: bool = False,
    retry_s: Seconds = 60.0,
) -> Postgres:
    """A sink that appends to a table of a PostgreSQL database, each tuple exactly once.

    The connection string is never shown; put a password into a `tw.secret`. A missing table is created, unless `create`
    is False. With `position` the table has the columns `_epoch` and `_row`, which give the tuples' order in the stream.
    """
    require(isinstance(dsn, str | Secret), "postgres: no connection string", "a str or a tw.secret(…)", type(dsn))
    parts = table.split(".")
    good = len(parts) in (1, 2) and all(part and "\0" not in part and fits(part) for part in parts)
    require(good, "postgres: bad table name", f"table or schema.table, each at most {_LONGEST_NAME} bytes", table)
    secret = dsn if isinstance(dsn, Secret) else Secret(str(dsn))
    return Postgres(secret, table, _shown(secret), create, position, retry_s)


@dataclass(frozen=True, slots=True)
class Postgres(SinkEndpoint):
    """A sink that appends to a table of a PostgreSQL database. `shown` names the server without secrets."""

    dsn: Secret = field(hash=False, repr=False)
    table: str  # optionally with its schema
    shown: str
    create: bool = True
    position: bool = False
    retry_s: float = 60.0

    call = "tw.postgres(…)"
    needs_spark = False
    placed = False  # an epoch that is in the table is not written again
    shows_order = True
    folder = None
    sink_row = (
        "`tw.postgres(dsn, table)`",
        "rows of a PostgreSQL table",
        "in `_epoch`, `_row` with `position=True`",
        "exactly once",
    )

    @property
    def title(self) -> str:
        return self.shown

    @property
    def target(self) -> Target:
        place = ("postgres", self.dsn, self.table)
        return Target(place, "table", f"the table {self.table}", "write a .union() of the streams to one sink")

    def columns(self, tuple_type: TupleType) -> tuple[str, ...]:
        return (*tuple_type.names, *(POSITION_COLUMNS if self.position else ()))

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        """Reject attributes that cannot be columns."""
        for name in tuple_type.names:
            if not fits(name):
                raise GraphError(
                    f"the attribute name is too long for PostgreSQL: {name}",
                    where=where,
                    expected=f"at most {_LONGEST_NAME} bytes",
                    found=f"{len(name.encode())} bytes",
                    hint="rename it with a .map() before the sink",
                )

    def writer(self, site: SinkSite) -> PostgresSink:
        from thalweg.endpoints.postgres_writer import PostgresSink

        return PostgresSink(site, self)


def driver() -> Any:
    """The driver, loaded here because a graph without a database does not need it."""
    import psycopg
    import psycopg.conninfo

    return psycopg


def fits(name: str) -> bool:
    return len(name.encode()) <= _LONGEST_NAME


def _shown(dsn: Secret) -> str:
    """The server and database, without user and password."""
    where = call_place(user_frame())
    with extra("postgres", "tw.postgres", where):
        psycopg = driver()
    try:
        given = psycopg.conninfo.conninfo_to_dict(dsn.reveal())
    except psycopg.ProgrammingError:  # its text shows parts of the string, possibly the password
        raise GraphError(
            "postgres: the connection string cannot be parsed",
            where=where,
            expected="postgresql://user:password@host:port/database, or host=… port=… dbname=… user=… password=…",
            hint="in a URL, write @ : / in a password as %40 %3A %2F",
        ) from None
    password = str(given.get("password") or "")
    if len(password) >= _LEAST_SECRET:
        hide(password)
    host = given.get("host") or given.get("hostaddr") or "the default server"
    port = f":{given['port']}" if given.get("port") else ""
    database = f"/{given['dbname']}" if given.get("dbname") else ""
    return f"PostgreSQL at {host}{port}{database}"
