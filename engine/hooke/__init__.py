"""Hooke's engine: algorithms of distributed training, the loop that runs them, and the agents of a cluster."""

__version__ = "0.1.0"
