"""Sources and sinks: a module for each, with everything that Thalweg knows about it.

Such a module contains the constructor that users call, its checks, the declarations that the compiler and the engines
require (`ir/endpoints.py`), and the reader or writer, or an import of a longer one in the method that creates it.
Constructors run wherever a graph is built, so modules that are slow to load (numpy, Arrow, drivers) are imported where
they are used.
"""
