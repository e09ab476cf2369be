"""The virtual world: ranks are threads that take turns, time is that of a network model."""
