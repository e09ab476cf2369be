"""Shared by all parts of the API: settings, errors, schemas, identifiers, cursors, intervals, security."""
