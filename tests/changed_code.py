"""Tests that start a checkpoint again with code that changed, as a user who corrects a mistake does."""

from __future__ import annotations

import pytest

# That the warning comes when it should, and only then, is tested in tests/engine/test_changed_code.py.
CHANGES_CODE = pytest.mark.filterwarnings("ignore:.* is not as it was at the last start")
