"""Events to browsers: notifications over Redis, one reader of the events table, streams."""
