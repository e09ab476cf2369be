"""Routes outside the resources of the API: dashboard files, login, health, reference."""
