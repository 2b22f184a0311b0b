"""Follows the Python code of user functions and operator classes, and says what it may do."""
