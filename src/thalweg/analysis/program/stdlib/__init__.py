"""Python's own functions and types."""
