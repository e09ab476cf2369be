"""Data types shared by all parts: specifications, journal records, the journal, and the states of a run."""
