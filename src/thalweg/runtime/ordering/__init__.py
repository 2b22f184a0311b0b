"""Splitters and mergers: how tuples of one stream part into channels and meet again in their order."""
