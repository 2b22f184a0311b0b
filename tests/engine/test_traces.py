"""What a run leaves and shows has no secret, and no port that other machines can reach. For Spark: tests/spark."""

from __future__ import annotations

import base64
import json
import os
import socket
from pathlib import Path

import pytest

from tests.small import THALWEG, thalweg
from tests.spark.processes import Run
from tests.traces import (
    MARK,
    WORD,
    descendants,
    exposed,
    guarded,
    left_by,
    listening,
    process_texts,
    readable_by_others,
    with_word,
)

pytestmark = pytest.mark.slow

FIXED = ("--engine", "local", "--degree", "2", "--max-tuples-per-epoch", "10", "--param", "word=@word.txt")


def test_the_search_finds_it() -> None:
    said = f"a {WORD} b"
    texts = [said, repr(said), json.dumps([said]), json.dumps(repr(said)), repr([repr(said)]), str(KeyError(said))]
    assert all(with_word({"it": text.encode()}) for text in texts)
    assert all(with_word({"it": base64.b64encode((" " * skip + said).encode())}) for skip in range(3))


def test_the_search_finds_open_ports() -> None:
    here = [os.getpid()]
    for address, found in (("127.0.0.1", False), ("0.0.0.0", True), ("::1", False), ("::", True)):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        before = listening(here)
        with socket.create_server((address, 0), family=family):
            new = [each for each in listening(here) if each not in before]
        assert len(new) == 1
        assert bool(exposed(new)) == found, address


def test_while_it_runs_and_when_it_has_ended(tmp_path: Path) -> None:
    app = guarded(tmp_path / "app")
    said, checkpoint = tmp_path / "said", app.parent / "state"
    (app.parent / "hold").touch()
    checkpoint.mkdir()  # with the user's mode
    more = ("--checkpoint", "state", "--json", "--prometheus", "0", "--metrics", "metrics.jsonl")
    run = Run([*THALWEG, "run", app.name, *FIXED, *more], said, cwd=app.parent)
    try:
        assert run.wait_until(lambda: any(app.parent.glob("held-*"))), said.read_text()
        processes = descendants(run.process.pid)
        assert len(processes) >= 4  # the command, multiprocessing's server and two workers
        assert with_word(process_texts(processes)) == []
        ports = listening(processes)
        assert len(ports) == 1  # Prometheus
        assert exposed(ports) == []
        assert with_word(left_by(checkpoint)) == []
        (app.parent / "hold").unlink()
        assert run.wait() == 0, said.read_text()
    finally:
        run.kill()
    look(app, checkpoint, said.read_bytes())
    assert readable_by_others(checkpoint) == []


@pytest.mark.parametrize("style", ["--json", "--verbose"])
@pytest.mark.parametrize("fails", ["process", "function", "setup"])
def test_after_a_failure(tmp_path: Path, fails: str, style: str) -> None:
    app = guarded(tmp_path / "app")
    done = thalweg("run", app.name, *FIXED, "--checkpoint", "state", "--param", f"fails={fails}", style, cwd=app.parent)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "***" in said
    assert "Traceback" not in said
    look(app, app.parent / "state", said.encode())


def look(app: Path, checkpoint: Path, said: bytes) -> None:
    """Search what was printed, all files but the secret's, and what the other commands say."""
    found = {"said": said} | left_by(app.parent)
    del found[str(app.parent / "word.txt")]
    assert any(MARK.encode() in data for data in found.values())
    for command in (["explain", app.name], ["explain", app.name, "--verbose"], ["explain", app.name, "--json"]):
        found[" ".join(command)] = heard(*command, "--param", "word=@word.txt", cwd=app.parent)
    for command in (["state", str(checkpoint)], ["state", str(checkpoint), "--json"]):
        found[" ".join(command)] = heard(*command, cwd=app.parent)
    assert with_word(found) == []


def heard(*arguments: str, cwd: Path) -> bytes:
    done = thalweg(*arguments, cwd=cwd)
    return (done.stdout + done.stderr).encode()


def test_the_option_of_a_sink(tmp_path: Path) -> None:
    """The server does not exist: the error names it, without the password."""
    app = guarded(tmp_path / "app")
    simple = "correct-horse-battery"
    (app.parent / "word.txt").write_text(simple)
    more = 'pool.sink(tw.postgres(f"postgresql://me:{word.reveal()}@127.0.0.1:1/db", "t", retry_s=0.1), name="table")\n'
    app.write_text(app.read_text() + more)
    said = b""
    for style in ("--json", "--verbose"):
        done = thalweg("run", app.name, *FIXED, "--checkpoint", "state", style, cwd=app.parent)
        assert done.returncode == 1
        said += (done.stdout + done.stderr).encode()
    assert b"127.0.0.1:1" in said
    found = left_by(app.parent) | {"said": said, "plan": heard("explain", app.name, *FIXED[-2:], cwd=app.parent)}
    del found[str(app.parent / "word.txt")]
    assert with_word(found, simple) == []
