"""The runs of experiments: those of a submission, and of each further step of a tuning."""
