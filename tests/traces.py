"""All that a run leaves, and shows while it runs: searched for a secret, for open ports and for open files."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

# With characters that Python and JSON escape.
WORD = "corr\"ect\\horse-bättery's"
MARK = "canary"  # in the tuples: a search that does not find it anywhere searches nothing

# It uses the secret in functions, in operator classes and, on Spark, in the options of a source.
APP = """
from pathlib import Path

import thalweg as tw

HERE = Path(__file__).parent
word = tw.secret("word", help="for the pool")
fails = tw.param("fails", default="nowhere")
address = f"https://{word.reveal()}@host"


class T(tw.Tuple):
    x: int
    s: str


class Pool(tw.Operator):
    def __init__(self, word):
        self.word, self.text, self.seen = word, word.reveal(), []

    def setup(self):
        if fails == "setup":
            raise ValueError(f"{self.text} is refused")
        return [self.word]

    def process(self, t, port):
        self.seen.append(t.s)
        if fails == "process" and t.x > 20:
            raise ValueError(f"{self.text} is refused: {[str(self.word.reveal()), t]}")
        self.submit(t)


def check(t, word=word):
    while (HERE / "hold").exists():
        (HERE / f"held-{t.x}").touch()
        __import__("time").sleep(0.01)
    if fails == "function" and t.x > 20:
        raise KeyError(f"{word.reveal()} at {address}")
    return t.s not in (word.reveal(), address)


def odd(t):
    if t.x % 2 == 0:
        raise ValueError(f"even {word.reveal()}, {[str(word.reveal())]}")
    return True


def rows():
    for x in range(40):
        yield T(x, f"canary{x}")


app = tw.App("guarded")
files = app.source(tw.files(HERE / "in", format="jsonl"), T, name="files")
spooled = app.source(tw.iterable(rows), T, name="spooled")
checked = files.union(spooled).filter(check, name="checked")
pool = checked.custom(Pool(word), T, by="s", name="pool")
pool.sink(tw.files(HERE / "out"), name="out")
some = spooled.filter(odd, name="some", on_error="dead_letter")
some.sink(tw.collect(), name="kept")
some.dead_letters.sink(tw.files(HERE / "dead", format="jsonl"), name="dead")
"""


def guarded(folder: Path, more: str = "") -> Path:
    """The application and its input, with the secret in a file."""
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.jsonl").write_text('{"x": 1, "s": "canary"}\n{"x": 21, "s": "b"}\n')
    (folder / "word.txt").write_text(f"{WORD}\n")
    file = folder / f"guarded_{folder.name.replace('-', '_')}.py"
    file.write_text(APP + more)
    return file


def forms(word: str) -> set[bytes]:
    """The word as it may be written: plain, as a literal in Python, JSON or Java, and in base64."""
    found = {word}
    for _ in range(3):  # a document may be a text in another document
        found |= {json.dumps(text, ensure_ascii=ascii)[1:-1] for text in found for ascii in (True, False)}
        found |= {repr(f'"{text}')[2:-1] for text in found}
    plain = word.encode()
    parts = (base64.b64encode(plain[skip:])[4:-4] for skip in range(3))  # whatever comes before it
    return {text.encode() for text in found} | {word.encode("utf-16-le"), word.encode("latin-1")} | set(parts)


def left_by(*folders: Path) -> dict[str, bytes]:
    """The files of these folders, and what is in the archives among them."""
    found: dict[str, bytes] = {}
    for file, data in (each for folder in folders for each in contents(folder)):
        found[str(file)] = data
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                found |= {f"{file}/{name}": archive.read(name) for name in archive.namelist()}
    return found


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder. Spark may remove files and folders meanwhile, which `Path.rglob` reports as an error."""
    for at, folders, names in os.walk(folder):
        folders.sort()
        for file in (Path(at, name) for name in sorted(names)):
            with suppress(FileNotFoundError):
                if file.is_file():
                    yield file, file.read_bytes()


def with_word(found: Mapping[str, bytes], word: str = WORD) -> list[str]:
    """The names of what has the word in any form."""
    return [name for name, data in found.items() if any(form in data for form in forms(word))]


def descendants(process: int) -> list[int]:
    """The process and all that it started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def process_texts(processes: Iterable[int]) -> dict[str, bytes]:
    """Command lines, names and environments."""
    found: dict[str, bytes] = {}
    for process in processes:
        for name in ("cmdline", "comm", "environ"):
            with suppress(OSError):
                found[f"{process} {name}"] = Path(f"/proc/{process}/{name}").read_bytes()
    return found


_LISTENING = "0A"
_LOOPBACK = ("0100007F", "0" * 24 + "01000000", "0000000000000000FFFF00000100007F")


def listening(processes: Iterable[int]) -> list[str]:
    """The addresses, as the kernel writes them, where these processes wait for connections."""
    sockets: set[str] = set()
    for process in processes:
        with suppress(OSError):
            for file in Path(f"/proc/{process}/fd").iterdir():
                with suppress(OSError):
                    sockets.add(str(file.readlink()))
    return [address for address, socket in _tcp_sockets() if f"socket:[{socket}]" in sockets]


def _tcp_sockets() -> Iterator[tuple[str, str]]:
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            (
                _,
                address,
                _,
                state,
                *_,
            ) = fields = line.split()
            if state == _LISTENING:
                yield address, fields[9]


def exposed(addresses: Iterable[str]) -> list[str]:
    """Those that other machines can reach."""
    return [address for address in addresses if address.partition(":")[0] not in _LOOPBACK]


def readable_by_others(folder: Path) -> list[Path]:
    """What is in the folder and not private. Nobody else sees what is in a private folder."""
    found: list[Path] = []
    for path in folder.iterdir():
        if path.stat().st_mode & 0o077:
            found += [path, *(readable_by_others(path) if path.is_dir() else ())]
    return found
