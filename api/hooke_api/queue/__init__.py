"""The queue of a cluster as pure functions: order, predictions, outlook; without database and clock."""
