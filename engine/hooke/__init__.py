"""Hooke's engine: distributed training algorithms, the loop that runs them, and the agents of clusters."""

__version__ = "0.1.0"
