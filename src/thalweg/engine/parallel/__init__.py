"""The local engine with a process for each channel."""
