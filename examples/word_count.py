"""Word count: how often each word occurred so far, in each chapter, and in the whole text.

    thalweg run examples/word_count.py --degree 2
    python examples/check_word_count.py               (run it on the local engine, compare with collections.Counter)

At the first start, make_lines.py makes seeded lines in examples/data/lines. A line `* * *` ends a
chapter: a punctor puts a punctuation after it, which passes the operators between, and the windows of all words close
there. The end of the input closes those that are still open.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from make_lines import make_lines

import thalweg as tw
from thalweg import agg, window


class Line(tw.Tuple):
    text: str


class Word(tw.Tuple):
    word: str


def words_of(line: Line) -> Iterator[Word]:
    return (Word(word) for word in re.findall(r"\w+", line.text.lower()))


LINES = Path(__file__).parent / "data" / "lines"
if not LINES.exists():
    make_lines(LINES)

app = tw.App("word_count")

lines = app.source(tw.files(LINES, format="jsonl"), Line)
words = lines.punctor(lambda line: line.text == "* * *").flat_map(words_of, Word)
so_far = words.aggregate(window.running(by="word"), word=agg.any("word"), count=agg.count())
so_far.sink(tw.collect(), name="running")

chapter = words.aggregate(
    window.tumbling(punctuation=True, by="word"), word=agg.any("word"), count=agg.count(), name="chapter"
)
chapter.sink(tw.collect(), name="chapters")
frequent = chapter.top_k(3, "count", window=window.tumbling(punctuation=True))
frequent.sink(tw.collect(), name="top_of_chapters")

# Never a punctuation: the only window of each word closes at the end.
book = lines.flat_map(words_of, Word).punctor(lambda word: False)
total = book.aggregate(window.tumbling(punctuation=True, by="word"), word=agg.any("word"), count=agg.count())
total.sink(tw.collect(), name="totals")
