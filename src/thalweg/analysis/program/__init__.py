"""An abstract interpreter of users' Python: a machine, and handlers of syntax nodes, items and functions."""
