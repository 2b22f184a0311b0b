"""An abstract interpreter for user code: a machine, and handlers of syntax nodes, items and functions."""
