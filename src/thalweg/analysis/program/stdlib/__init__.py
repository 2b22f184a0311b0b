"""Functions and types of Python and its standard library."""
