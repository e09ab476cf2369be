"""Wrappers of a communicator of either world: packing, wire types, staging through the host, timing."""
