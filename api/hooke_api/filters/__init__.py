"""The filter language of experiments and runs."""
