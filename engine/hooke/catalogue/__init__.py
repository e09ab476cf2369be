"""Algorithms and workloads: their base classes, where they are found, and the validation of specifications."""
