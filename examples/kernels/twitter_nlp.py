"""Twitter NLP (Schneider et al., Figure 11): one stateless operator that does all the work."""

import thalweg as tw

WORDS = ("rivers", "carry", "the", "thalweg", "along", "their", "beds", "and", "nobody", "sees", "it")


class Tweet(tw.Tuple):
    text: str


class Parsed(tw.Tuple):
    words: list[str]
    lengths: list[int]
    mean: float


def tweet(number: int) -> Tweet:
    return Tweet(" ".join(WORDS[number * step % len(WORDS)] for step in range(1, 4 + number % 6)))


def parse(tweet: Tweet) -> Parsed:
    words = tweet.text.split()
    lengths = [len(word) for word in words]
    return Parsed(words, lengths, sum(lengths) / len(lengths))


app = tw.App("twitter_nlp")
tweets = app.source(tw.beacon(tweet, count=2_000), Tweet)
nlp = tweets.map(parse, Parsed)
nlp.sink(tw.collect(), name="parsed")
