"""Files of data sets: where they lie, and how they are read."""
