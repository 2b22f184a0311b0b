"""Splitters and mergers: how the tuples of one stream are split over channels and merged again in order."""
