"""The word count by collections.Counter, to check a result against: no Thalweg in it, but for the run itself.

python examples/check_word_count.py
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Rows = list[tuple[Any, ...]]


def expected_counts(folder: Path) -> dict[str, Rows]:
    """What each sink should get. Words of a chapter come in the order of the alphabet; they are short enough."""
    so_far: Counter[str] = Counter()
    chapter: Counter[str] = Counter()
    answer: dict[str, Rows] = {"running": [], "chapters": [], "top_of_chapters": [], "totals": []}

    def close() -> None:
        counted = sorted(chapter.items())
        answer["chapters"] += counted
        answer["top_of_chapters"] += sorted(counted, key=lambda item: -item[1])[:3]
        chapter.clear()

    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            text = json.loads(line)["text"]
            for word in re.findall(r"\w+", text.lower()):
                so_far[word] += 1
                chapter[word] += 1
                answer["running"].append((word, so_far[word]))
            if text == "* * *":
                close()
    close()
    answer["totals"] = sorted(so_far.items())
    return answer


def disagreement(found: Callable[[str], Sequence[tuple[Any, ...]]], expected: dict[str, Rows]) -> str | None:
    """The first sink and row that differ, or None."""
    for sink, rows in expected.items():
        got = found(sink)
        for number, (ours, theirs) in enumerate(zip(got, rows, strict=False)):
            if ours != theirs:
                return f"{sink}, row {number}: found {ours}, expected {theirs}"
        if len(got) != len(rows):
            return f"{sink}: found {len(got)} rows, expected {len(rows)}"
    return None


def main() -> int:
    from word_count import LINES, app

    import thalweg as tw

    result = tw.run(app, engine="local", degree=2)
    problem = disagreement(result.tuples, expected_counts(LINES))
    print(problem or f"{result.tuples_out['totals']} words and their counts agree with collections.Counter")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
