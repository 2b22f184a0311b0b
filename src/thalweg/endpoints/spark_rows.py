"""`tw.spark` and `tw.from_dataframe`: rows of any Spark streaming format, and of a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from thalweg.endpoints.checks import require
from thalweg.endpoints.spark_options import Options, checked_options, revealed
from thalweg.ir.arguments import Rule, checked
from thalweg.ir.endpoints import FedBySpark, any_tuple_type

ONLY_ON_SPARK = "it can be read only in a run on Spark"
_ROW = (
    "`tw.spark(format, …)`, `tw.from_dataframe(df)`",
    "a row that Spark reads ([spark.md](spark.md))",
    "as received",
    "yes, from the spool",
    "exactly once, if Spark's source is replayable",
)

Columns = Annotated[
    str | Sequence[str], Rule("the name of a column, or several", lambda names: "" not in _names(names))
]


@checked
def spark(
    format: Annotated[str, Rule("the name of a streaming format", bool)],
    *,
    split_by: Columns = (),
    **options: object,
) -> SparkFormat:
    """A source of the rows of any streaming format that Spark supports, by name and options.

    Columns are matched to attributes by name. `split_by`: the columns whose values are the partition of a row, if rows
    are in order only within a partition. Each partition has its own event time.
    """
    return SparkFormat(format, checked_options("spark", options), _names(split_by))


@checked
def from_dataframe(frame: Any, *, split_by: Columns = ()) -> SparkFrame:
    """A source of the rows of a Spark DataFrame, streaming or not. `split_by`: as for `tw.spark`."""
    good = hasattr(frame, "schema") and hasattr(frame, "isStreaming")
    require(good, "from_dataframe: not a DataFrame", "a Spark DataFrame", frame)
    return SparkFrame(frame, _names(split_by))


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


@dataclass(frozen=True, slots=True)
class SparkFormat(FedBySpark):
    """A Spark streaming format. Workers read the spool: the options, which may contain secrets, stay in the driver."""

    format: str
    options: Options = field(default=(), repr=False)
    split_by: tuple[str, ...] = ()

    call = "tw.spark(…)"
    needs_spark = True
    no_sample = ONLY_ON_SPARK
    batch_order = ()
    folder = None
    endless = None
    row_policy = "fail"
    numbered = None
    check_source = any_tuple_type  # the columns are checked when the query starts
    source_row = _ROW

    def __reduce__(self) -> tuple[type[SparkFormat], tuple[str, Options, tuple[str, ...]]]:
        return SparkFormat, (self.format, (), self.split_by)

    @property
    def identity(self) -> str:
        """The feeding query resumes where it stopped, and the columns of the spool cannot change."""
        return f"Spark format {self.format}"

    @property
    def title(self) -> str:
        return f"the Spark format {self.format}"

    def rows(self, max_tuples: int) -> tuple[str, dict[str, str]]:
        return self.format, revealed(self.options)


@dataclass(frozen=True, slots=True)
class SparkFrame(FedBySpark):
    """A DataFrame of the user. It stays in the driver."""

    frame: Any = field(compare=False, repr=False)
    split_by: tuple[str, ...] = ()

    call = "tw.from_dataframe(…)"
    needs_spark = True
    no_sample = ONLY_ON_SPARK
    batch_order = ()
    folder = None
    endless = None
    row_policy = "fail"
    numbered = None
    check_source = any_tuple_type  # the columns are checked when the query starts
    source_row = _ROW

    def __reduce__(self) -> tuple[type[SparkFrame], tuple[None, tuple[str, ...]]]:
        return SparkFrame, (None, self.split_by)

    @property
    def identity(self) -> str:
        return "DataFrame"

    @property
    def title(self) -> str:
        return "the DataFrame"

    def rows(self, max_tuples: int) -> Any:
        return self.frame
