"""Comparison of variants: times to the target, intervals, the verdict rule and its sentences."""
