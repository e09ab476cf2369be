"""The virtual world: ranks are threads that take turns; time follows a network model."""
