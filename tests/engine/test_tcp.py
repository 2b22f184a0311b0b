"""TCP sources and sinks on the local engine, against servers on loopback."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.small import Stop
from tests.tcp import Script, Server, break_off, free_port, hear, numbers, reset, say, say_and_stay
from tests.traces import exposed, listening
from tests.waiting import wait_for
from thalweg.endpoints.tcp_writer import TcpSink
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.core.stop import Stop as RunStop
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.report import Lost
from thalweg.errors import InputError, OutputError, ThalwegWarning
from thalweg.ir.endpoints import SinkEndpoint
from thalweg.optimize.passes import make_plan

HOST = "127.0.0.1"


class Line(tw.Tuple):
    i: int
    s: str


class Text(tw.Tuple):
    line: str


class Wide(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


def run(
    app: tw.App,
    checkpoint: Path | None = None,
    watch: Callable[[EpochReport], None] = lambda report: None,
    *,
    follow: bool = False,
) -> RunResult:
    options = RunOptions(checkpoint, follow=follow, max_tuples_per_epoch=30, interval_s=0.05)
    return run_local(make_plan(app.graph()), options, watch)


def reading(port: int, tuple_type: type[tw.Tuple] = Line, **options: Any) -> tw.App:
    app = tw.App("lines")
    app.source(tw.tcp(HOST, port, **options), tuple_type, name="lines").sink(tw.collect(), name="out")
    return app


def read(*scripts: Script, tuple_type: type[tw.Tuple] = Line, **options: Any) -> Sequence[tuple[Any, ...]]:
    with Server(*scripts) as server:
        return run(reading(server.port, tuple_type, **options)).tuples()


def tuples(first: int, last: int) -> list[tuple[int, str]]:
    return [(i, f"t{i}") for i in range(first, last)]


# Sources


def test_json_lines_until_the_server_closes() -> None:
    assert read(say(*numbers(0, 100))) == tuples(0, 100)


def test_an_empty_connection() -> None:
    assert read(say()) == []


def test_the_last_line_may_lack_its_end_and_others_may_be_empty() -> None:
    assert read(say(numbers(0, 1)[0], "", "  ", numbers(1, 2)[0], end="\r\n")) == tuples(0, 2)
    assert read(say("\n".join(numbers(0, 3)), end="")) == tuples(0, 3)


def test_json_with_more_attributes_and_an_int_for_a_float() -> None:
    line = '{"more": [1], "b": true, "x": 3, "i": 9007199254740993, "s": "é\\u0000"}'
    assert read(say(line), tuple_type=Wide) == [(9007199254740993, 3.0, "é\0", True)]


def test_csv_lines() -> None:
    lines = ('1,0.1,"a,""b""",true', "-2,nan,,False", " 3 ,-0.0,x,TRUE")
    found = read(say(*lines), tuple_type=Wide, format="csv")
    rows = [tuple(row) for row in found]
    assert repr(rows) == repr([(1, 0.1, 'a,"b"', True), (-2, float("nan"), "", False), (3, -0.0, "x", True)])


def test_lines_of_text() -> None:
    assert read(say("one", "", "two words"), tuple_type=Text, format="text") == [("one",), ("",), ("two words",)]


BAD = {
    "no JSON": ("jsonl", "nonsense", "Expecting value"),
    "no object": ("jsonl", "[1]", "expected a JSON object"),
    "missing": ("jsonl", '{"i": 1, "x": 1.0, "s": "a"}', "b is missing"),
    "type": ("jsonl", '{"i": 1.0, "x": 1.0, "s": "a", "b": true}', "i: expected int, found float"),
    "range": ("jsonl", '{"i": 9223372036854775808, "x": 1.0, "s": "a", "b": true}', "does not fit into a 64-bit int"),
    "null": ("jsonl", '{"i": null, "x": 1.0, "s": "a", "b": true}', "i: expected int, found NoneType"),
    "surrogate": ("jsonl", '{"i": 1, "x": 1.0, "s": "\\ud800", "b": true}', "surrogates not allowed"),
    "fields": ("csv", "1,2", "expected 4 fields, found 2"),
    "number": ("csv", "one,1.0,a,true", "i: invalid literal for int()"),
    "bool": ("csv", "1,1.0,a,yes", "b: expected true or false, found 'yes'"),
    "quote": ("csv", '1,1.0,"a,true', "unexpected end of data"),
}
GOOD = {"jsonl": '{"i": 1, "x": 1.0, "s": "a", "b": true}', "csv": "1,1.0,a,true"}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line(tmp_path: Path, kind: str) -> None:
    format, line, message = BAD[kind]
    good = GOOD[format]
    with Server(say(good, line, good), say(good)) as server:
        with pytest.raises(InputError) as failure:
            run(reading(server.port, Wide, format=format), tmp_path)
        error = failure.value
        assert error.message.startswith(f"line 2 from {HOST}:{server.port} is not valid {format} for this type: ")
        assert message in error.message
        assert (error.operator, error.found) == ("lines", line)
        assert error.where is not None
        assert error.where.file == __file__
        again = run(reading(server.port, Wide, format=format), tmp_path)
        assert len(again.tuples()) == 2, "the line before the bad one, and the server's next line"
    with Server(say(line, good, line, line, good, line)) as server:
        skipping = run(reading(server.port, Wide, format=format, on_error="skip"))
    assert len(skipping.tuples()) == 2
    assert skipping.lost == {"lines": Lost(6, skipped=4)}
    assert skipping.warnings == (
        'lines: 4 of 6 rows are not valid and were left out; on_error="fail" shows the first one',
    )


def test_skipped_lines_are_counted_once_after_a_stop(tmp_path: Path) -> None:
    """Those before a spooled tuple are counted with it: in the epoch that takes it, whenever it runs."""
    lines = [text for number in numbers(0, 40) for text in ("bad", number)]
    spool, stop = Spool.of(tmp_path / "spool", "lines"), RunStop()

    def stop_when_fed(report: EpochReport) -> None:
        wait_for(lambda: spool.end() is not None)
        stop.request()

    with Server(say(*lines, "bad")) as server:
        app = reading(server.port, on_error="skip")
        options = RunOptions(tmp_path, max_tuples_per_epoch=10, stop=stop)
        assert run_local(make_plan(app.graph()), options, stop_when_fed).stopped
        assert run(app, tmp_path).lost == {"lines": Lost(81, skipped=41)}


def test_invalid_lines_after_the_last_tuple_are_counted(tmp_path: Path) -> None:
    """At a stop, and once in the figures of the whole run, also if the connection broke."""
    spool, stop = Spool.of(tmp_path / "spool", "lines"), RunStop()
    options = RunOptions(tmp_path, follow=True, max_tuples_per_epoch=30, interval_s=0.05, stop=stop)

    def saying(*lines: str, skipped: int, then: Script = lambda connection: connection.recv(1)) -> Script:
        def script(connection: socket.socket) -> None:
            say(*lines)(connection)
            wait_for(lambda: spool.waiting_skipped() == skipped)
            stop.request()
            then(connection)

        return script

    scripts = saying("no", "no", skipped=2), saying("no", skipped=3, then=break_off), say(*numbers(0, 5), "no")
    with Server(*scripts) as server:
        app = reading(server.port, on_error="skip")
        paused = run_local(make_plan(app.graph()), options, lambda report: None)
        assert paused.lost == {"lines": Lost(2, skipped=2)}
        assert any("2 of 2 rows are not valid" in text for text in paused.warnings)
        with pytest.raises(InputError, match="broke"):
            run(app, tmp_path)
        assert run(app, tmp_path).lost == {"lines": Lost(9, skipped=4)}


def test_bytes_that_are_not_text() -> None:
    with Server(lambda connection: connection.sendall(b"\xff\n")) as server, pytest.raises(InputError, match="line 1"):
        run(reading(server.port, Text, format="text"))


def test_a_refused_connection_is_tried_for_a_while() -> None:
    port = free_port()
    with pytest.raises(InputError, match=f"no connection to {HOST}:{port}") as failure:
        run(reading(port, retry_s=0.2))
    assert failure.value.expected == "a server that answers within 0.2 s"
    assert "refused" in str(failure.value.found)
    assert failure.value.hint


def test_a_server_that_comes_later(tmp_path: Path) -> None:
    port, results = free_port(), list[RunResult]()
    running = threading.Thread(target=lambda: results.append(run(reading(port), tmp_path)))
    running.start()
    wait_for(lambda: (tmp_path / "spool").exists())
    with Server(say(*numbers(0, 5)), port=port):
        running.join(30)
    assert results[0].tuples() == tuples(0, 5)


def test_a_connection_that_breaks(tmp_path: Path) -> None:
    """This is not an end: the run stops, and the next start resumes."""

    spool = Spool.of(tmp_path / "spool", "lines")

    def breaking(connection: socket.socket) -> None:
        say(*numbers(0, 10))(connection)
        connection.sendall(b'{"i": 10')
        wait_for(lambda: spool.contents()[1] == 10)
        break_off(connection)

    with Server(breaking, say(*numbers(10, 20))) as server:
        with pytest.raises(InputError, match="broke"):
            run(reading(server.port), tmp_path)
        assert run(reading(server.port), tmp_path).tuples() == tuples(0, 20)


def test_listening() -> None:
    """On the address that was named, and on no other."""
    port, results = free_port(), list[RunResult]()
    running = threading.Thread(target=lambda: results.append(run(reading(port, listen=True))))
    running.start()
    wait_for(lambda: any(address.endswith(f":{port:04X}") for address in listening([os.getpid()])))
    assert exposed(listening([os.getpid()])) == []

    def connected() -> bool:
        try:
            with socket.create_connection((HOST, port)) as client:
                say(*numbers(0, 7))(client)
                return True
        except ConnectionRefusedError:
            return False

    wait_for(connected)
    running.join(30)
    assert results[0].tuples() == tuples(0, 7)


def test_a_port_that_is_taken() -> None:
    with Server(say()) as server, pytest.raises(InputError, match=f"cannot listen on {HOST}:{server.port}"):
        run(reading(server.port, listen=True))


def test_what_was_spooled_before_a_stop_is_not_lost(tmp_path: Path) -> None:
    spool = Spool.of(tmp_path / "spool", "lines")

    def stop(report: EpochReport) -> None:
        wait_for(lambda: spool.contents()[1] == 100)
        raise Stop

    with Server(say_and_stay(*numbers(0, 100)), say(*numbers(100, 150))) as server:
        with pytest.raises(Stop):
            run(reading(server.port), tmp_path, stop)
        assert sum(epoch.tuples for epoch in Checkpoint(tmp_path).log) <= 30
        assert run(reading(server.port), tmp_path).tuples() == tuples(0, 150)


def test_follow_takes_the_next_connection(tmp_path: Path) -> None:
    seen = [0]

    def stop(report: EpochReport) -> None:
        seen[0] += report.tuples_in
        if seen[0] == 20:
            raise Stop

    with Server(say(*numbers(0, 10)), say(*numbers(10, 20)), say_and_stay(), say(*numbers(20, 25))) as server:
        with pytest.raises(Stop):
            run(reading(server.port), tmp_path, stop, follow=True)
        wait_for(lambda: server.connections in (2, 3))
        while server.connections < 3:  # the run was left before it connected again
            socket.create_connection((HOST, server.port)).close()
            wait_for(lambda: server.connections == 3)
        assert run(reading(server.port), tmp_path).tuples() == tuples(0, 25)


# Sinks


def writing(endpoint: SinkEndpoint, count: int = 50) -> tw.App:
    app = tw.App("writing")
    source = app.source(tw.beacon(lambda i: {"i": i, "s": f"é{i}"}, count=count), Line, name="lines")
    source.sink(endpoint, name="out")
    return app


def heard(lines: list[str]) -> list[tuple[int, int, int, str]]:
    return [(d["_epoch"], d["_row"], d["i"], d["s"]) for d in map(json.loads, lines)]


WANTED = [(i // 30, i % 30, i, f"é{i}") for i in range(50)]


def test_a_sink_sends_each_epoch_with_its_number() -> None:
    lines: list[str] = []
    with Server(hear(lines)) as server:
        result = run(writing(tw.tcp(HOST, server.port)))
        assert server.connections == 2, "none for the final epoch, which has no tuple"
    assert heard(lines) == WANTED
    assert result.tuples_out == {"out": 50}


def test_a_receiver_that_breaks_gets_the_epoch_again() -> None:
    lines: list[str] = []
    with Server(reset, hear(lines)) as server:
        with pytest.warns(
            ThalwegWarning, match=f"out waits for {HOST}:{server.port}: .*; trying again for 10 s"
        ) as said:
            run(writing(tw.tcp(HOST, server.port)))
        assert server.connections == 3
    assert len(said) == 1
    assert heard(lines) == WANTED


def test_without_a_receiver_the_epoch_is_not_committed(tmp_path: Path) -> None:
    port, lines = free_port(), list[str]()
    app = writing(tw.tcp(HOST, port, retry_s=0.2))
    refused = f"epoch 0 cannot be delivered to {HOST}:{port}"
    with pytest.raises(OutputError, match=refused) as failure, pytest.warns(ThalwegWarning, match="refused"):
        run(app, tmp_path)
    assert failure.value.operator == "out"
    assert "no data is lost" in str(failure.value.hint)
    with Server(hear(lines), port=port):
        run(app, tmp_path)
    assert heard(lines) == WANTED


def test_an_epoch_that_is_run_again_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least once: killed between the delivery and the commit, with the same numbers in every line."""
    lines: list[str] = []
    write = TcpSink.write

    def dying(self: TcpSink, epoch: int, frame: Any, *, final: bool) -> int:
        write(self, epoch, frame, final=final)
        raise Stop

    with Server(hear(lines)) as server:
        app = writing(tw.tcp(HOST, server.port))
        monkeypatch.setattr(TcpSink, "write", dying)
        with pytest.raises(Stop):
            run(app, tmp_path)
        monkeypatch.setattr(TcpSink, "write", write)
        run(app, tmp_path)
    assert heard(lines) == WANTED[:30] + WANTED


@pytest.mark.filterwarnings("ignore::thalweg.errors.ThalwegWarning")  # the receiver may come late
def test_a_sink_feeds_a_source() -> None:
    """Two applications: one's sink sends what the other's source hears."""
    port, results = free_port(), list[RunResult]()
    hearing = threading.Thread(target=lambda: results.append(run(reading(port, listen=True))))
    hearing.start()
    run(writing(tw.tcp(HOST, port), count=20))
    hearing.join(30)
    assert results[0].tuples() == [(i, f"é{i}") for i in range(20)]
