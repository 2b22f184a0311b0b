"""Twitter CEP (Schneider et al., Figure 11): five consecutive tweets of one author with the same hash tags."""

from collections.abc import Callable
from dataclasses import dataclass, field

import thalweg as tw


class Raw(tw.Tuple):
    xml: str


class Tweet(tw.Tuple):
    author: str
    tags: str


class Found(tw.Tuple):
    author: str
    tags: str
    tweets: int


def raw(number: int) -> Raw:
    tag = number // 40 * 3 % 4
    return Raw(f"<tweet><author>a{number * 7 % 9}</author><text>water #tag{tag} everywhere</text></tweet>")


def parse(raw: Raw) -> Tweet:
    author = raw.xml.partition("<author>")[2].partition("<")[0]
    text = raw.xml.partition("<text>")[2].partition("<")[0]
    return Tweet(author, " ".join(sorted(word for word in text.split() if word.startswith("#"))))


@dataclass
class Last:
    tags: list[str] = field(default_factory=list)


def five(tweet: Tweet, state: Last, submit: Callable[[Found], None]) -> None:
    state.tags = [*state.tags[-4:], tweet.tags]
    if len(state.tags) == 5 and all(tags == tweet.tags for tags in state.tags):
        submit(Found(tweet.author, tweet.tags, 5))


app = tw.App("twitter_cep")
tweets = app.source(tw.beacon(raw, count=3_000), Raw)
parsed = tweets.map(parse, Tweet)
match = parsed.custom(five, Found, by="author", state=Last())
match.sink(tw.collect(), name="patterns")
