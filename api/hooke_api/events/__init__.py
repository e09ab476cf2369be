"""What changed, on its way to browsers: hints over Redis, one reader of the events table, streams."""
