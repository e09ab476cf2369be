"""Training: the rank, its step loops, evaluation, checkpoints, and the program that runs an attempt's ranks."""
