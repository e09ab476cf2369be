"""The language that all parts share: specifications, journal records, the journal, and the states of a run."""
