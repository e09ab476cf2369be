"""What every part of the API stands on: settings, errors, schemas, identifiers, cursors, intervals, security."""
