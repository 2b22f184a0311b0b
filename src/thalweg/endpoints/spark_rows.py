"""`tw.spark` and `tw.from_dataframe`: rows of any streaming format of Spark's, and of a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thalweg.endpoints.checks import require
from thalweg.endpoints.spark_options import Options, checked_options, revealed
from thalweg.ir.endpoints import FedBySpark

ONLY_ON_SPARK = "only a run on Spark reads it"
_ROW = (
    "`tw.spark(format, …)`, `tw.from_dataframe(df)`",
    "a row that Spark reads ([spark.md](spark.md))",
    "as received",
    "yes, from the spool",
    "exactly once, if Spark's source is replayable",
)


def spark(format: str, **options: object) -> SparkFormat:
    """A source of the rows of any streaming format that Spark knows, by its name and options.

    The columns that are named like the attributes are taken.
    """
    require(isinstance(format, str) and format != "", "spark: bad format", "the name of a streaming format", format)
    return SparkFormat(format, checked_options("spark", options))


def from_dataframe(frame: Any) -> SparkFrame:
    """A source of the rows of a Spark DataFrame, streaming or not."""
    good = hasattr(frame, "schema") and hasattr(frame, "isStreaming")
    require(good, "from_dataframe: no DataFrame", "a DataFrame of Spark's", frame)
    return SparkFrame(frame)


@dataclass(frozen=True, slots=True)
class SparkFormat(FedBySpark):
    """A streaming format of Spark's by name. Workers read the spool: the options, which may hold secrets, stay here."""

    format: str
    options: Options = field(default=(), repr=False)

    call = "tw.spark(…)"
    needs_spark = True
    no_sample = ONLY_ON_SPARK
    batch_order = ()
    source_row = _ROW

    def __reduce__(self) -> tuple[type[SparkFormat], tuple[str]]:
        return SparkFormat, (self.format,)

    @property
    def identity(self) -> str:
        """The feeding query goes on where it was, and the spool keeps its columns."""
        return f"Spark format {self.format}"

    @property
    def title(self) -> str:
        return f"the Spark format {self.format}"

    def rows(self, max_tuples: int) -> tuple[str, dict[str, str]]:
        return self.format, revealed(self.options)


@dataclass(frozen=True, slots=True)
class SparkFrame(FedBySpark):
    """A DataFrame of the user's. It stays in the driver."""

    frame: Any = field(compare=False, repr=False)

    call = "tw.from_dataframe(…)"
    needs_spark = True
    no_sample = ONLY_ON_SPARK
    batch_order = ()
    source_row = _ROW

    def __reduce__(self) -> tuple[type[SparkFrame], tuple[None]]:
        return SparkFrame, (None,)

    @property
    def identity(self) -> str:
        return "DataFrame"

    @property
    def title(self) -> str:
        return "the DataFrame"

    def rows(self, max_tuples: int) -> Any:
        return self.frame
