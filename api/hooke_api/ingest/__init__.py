"""Ingest: requests of supervisors are validated as a whole and stored once, with the derived figures."""
