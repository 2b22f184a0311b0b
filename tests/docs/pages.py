"""The pages of docs/ as tests see them: input files, a prelude, and examples with what they should print.

A page holds, in this order, `<!-- input: FOLDER/FILE -->` before each block that is an input file, `<!-- prelude -->`
before the code that precedes every example, and then examples: a ```python block, followed by a ```text block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg.cli.find_app import load_app
from thalweg.endpoints.files import Files
from thalweg.endpoints.sqlite import Sqlite
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, Source

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(
    r"(?:^<!-- (?P<label>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Example:
    """A block of code, its output as shown in the page, and its location in the page."""

    name: str
    code: str
    output: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Page:
    file: Path
    text: str
    inputs: dict[str, str]
    prelude: str
    examples: tuple[Example, ...]

    def write_inputs(self, folder: Path) -> None:
        for name, text in self.inputs.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def write_example(self, example: Example, folder: Path) -> Path:
        """The example as the file that a user would have."""
        file = folder / f"example_{example.name}.py"  # no name that a module of Python has
        file.write_text(f"{self.prelude}\n\n{example.code}")
        return file

    def with_outputs(self, outputs: dict[str, str]) -> str:
        """The page's text with other outputs."""
        text = self.text
        for example in sorted(self.examples, key=lambda e: -e.span[0]):
            start, stop = example.span
            text = text[:start] + outputs[example.name] + text[stop:]
        return text


def read_page(name: str) -> Page:
    file = DOCS / name
    text = file.read_text()
    inputs: dict[str, str] = {}
    prelude = ""
    examples: list[Example] = []
    blocks = list(_BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        label = block["label"] or ""
        if label.startswith("input: "):
            inputs[label.removeprefix("input: ")] = block["text"]
        elif label == "prelude":
            prelude = block["text"]
        elif block["language"] == "python":
            output = blocks[number + 1] if number + 1 < len(blocks) else None
            line = text.count("\n", 0, block.start()) + 1
            assert output is not None, f"{name}:{line}: the output of this example is missing"
            assert output["language"] == "text", f"{name}:{line}: the output of this example is missing"
            title = _title(text, block.start())
            taken = sum(e.name.rstrip("0123456789") == title for e in examples)
            called = f"{title}{taken + 1 if taken else ''}"
            examples.append(Example(called, block["text"], output["text"], output.span("text")))
    return Page(file, text, inputs, prelude, tuple(examples))


def _title(text: str, before: int) -> str:
    """The heading above a block, as a word."""
    heading = re.findall(r"^#{2,4} (.*)$", text[:before], re.MULTILINE)[-1]
    return re.sub(r"\W+", "_", heading).strip("_").lower()


def headings(text: str) -> Iterator[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def graph_of(file: Path) -> LogicalGraph:
    """The graph of an application, with folders relative to its file."""

    def placed(operator: Operator) -> Operator:
        if isinstance(operator, Source) and isinstance(operator.endpoint, Files):
            return replace(operator, endpoint=moved(operator.endpoint))
        if isinstance(operator, Sink) and isinstance(operator.endpoint, Files | Sqlite):
            return replace(operator, endpoint=moved(operator.endpoint))
        return operator

    def moved(endpoint: Any) -> Any:
        return replace(endpoint, path=str(file.parent / endpoint.path))

    graph = load_app(str(file)).graph()
    return LogicalGraph(graph.name, tuple(placed(operator) for operator in graph.operators))
