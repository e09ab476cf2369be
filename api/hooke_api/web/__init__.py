"""Everything that is not a room of the API: the dashboard's files, login, health, the reference."""
