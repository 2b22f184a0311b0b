"""`tw.tcp`: lines over a connection, as a source and as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from thalweg.errors import GraphError, Where
from thalweg.ir.arguments import Rule, Seconds, checked, choice
from thalweg.ir.endpoints import FedByDriver, FeederTarget, SinkEndpoint, SinkSite
from thalweg.ir.operators import Source
from thalweg.ir.types import STR, TupleType

if TYPE_CHECKING:
    from thalweg.endpoints.tcp_writer import TcpSink

LINE_FORMATS = ("jsonl", "csv", "text")


@checked
def tcp(
    host: Annotated[str, Rule("a name or an address", bool)],
    port: Annotated[int, Rule("1 to 65535", lambda port: 0 < port < 65536)],
    *,
    format: Annotated[str, choice(*LINE_FORMATS)] = "jsonl",
    listen: bool = False,
    on_error: Annotated[str, choice("fail", "skip")] = "fail",
    retry_s: Seconds = 10.0,
) -> Tcp:
    """Lines over TCP. A source connects to a server, or listens and waits for a client; a sink connects."""
    return Tcp(host, port, format, listen, on_error, retry_s)


@dataclass(frozen=True, slots=True)
class Tcp(FedByDriver, SinkEndpoint):
    """Lines over a connection. As a sink: JSON lines."""

    host: str
    port: int
    format: str = "jsonl"
    listen: bool = False
    on_error: str = "fail"
    retry_s: float = 10.0

    call = "tw.tcp(…)"
    needs_spark = False
    no_sample = "a connection's lines can be read only once"
    patient = False
    folder = None
    endless = None
    numbered = None
    placed = True  # a line has the tuple's number in the epoch
    shows_order = True
    target = None
    source_row = (
        "`tw.tcp(host, port, format=…)`",
        "a line: `jsonl`, `csv` (fields in the type's order, no header), `text` (one `str`)",
        "as received",
        "yes, from the spool",
        "exactly once for spooled lines, at most once for lines in transit",
    )
    sink_row = ("`tw.tcp(host, port)`", "JSON lines to a server, one connection per epoch", "kept", "at least once")

    @property
    def identity(self) -> str:
        return "tcp"

    @property
    def row_policy(self) -> str:
        """The feeder drops invalid lines before they are spooled, and the spool counts them."""
        return self.on_error

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def check_source(self, tuple_type: TupleType, where: Where) -> None:
        if self.format == "text" and [t for _, t in tuple_type.attributes] != [STR]:
            raise GraphError(
                "a line of text is a single string",
                where=where,
                expected="a tuple type with a single attribute, of type str",
                found=str(tuple_type),
            )

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        if (self.format, self.listen, self.on_error) != ("jsonl", False, "fail"):
            raise GraphError(
                "a tcp sink connects to a server and sends JSON lines",
                where=where,
                expected="tw.tcp(host, port), without format, listen and on_error",
                found=f"format={self.format!r}, listen={self.listen}, on_error={self.on_error!r}",
            )

    def feed(self, source: Source, out: FeederTarget, *, follow: bool, limit: int | None = None) -> None:
        from thalweg.endpoints.tcp_feeder import feed_tcp

        feed_tcp(source, self, out, follow=follow)

    def writer(self, site: SinkSite) -> TcpSink:
        from thalweg.endpoints.tcp_writer import TcpSink

        return TcpSink(site.sink, self, site.tuple_type)
