"""Tuning: search spaces, trials, successive halving, and the choice of each variant's setting."""
