"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the first call of a numpy or Arrow function is slow. No database: a run leaves nothing behind.
settings.register_profile("thalweg", deadline=None, database=None, print_blob=True)
settings.load_profile("thalweg")
