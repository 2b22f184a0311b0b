"""`thalweg.testing`: run an application on given tuples instead of its endpoints, and inspect the output of its sinks.

See docs/testing.md.
"""

from thalweg.testing.result import Result, Row, assert_same
from thalweg.testing.runs import assert_plan_invariant, reference, run

__all__ = ["Result", "Row", "assert_plan_invariant", "assert_same", "reference", "run"]
