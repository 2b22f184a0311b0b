"""`thalweg.testing`: feed tuples to an application instead of its endpoints, and look at what its sinks get.

docs/testing.md shows how.
"""

from thalweg.testing.result import Result, Row, assert_same
from thalweg.testing.runs import assert_plan_invariant, reference, run

__all__ = ["Result", "Row", "assert_plan_invariant", "assert_same", "reference", "run"]
