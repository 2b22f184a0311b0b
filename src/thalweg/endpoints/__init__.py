"""Sources and sinks: a module for each, with all that Thalweg knows of it.

Such a module holds the constructor that users call, its checks, the declarations that compiler and engines ask for
(`ir/endpoints.py`), and the reader or writer, or the import of a longer one in the method that makes it. Constructors
run wherever a graph is built, so what is slow to load (numpy, Arrow, drivers) is imported where it is used.
"""
