"""When a request whose answer was lost is sent again, by the command line and by notebooks."""

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each repetition: another server takes over meanwhile."""
PASSING = (502, 503, 504)
"""Statuses of a proxy before servers of which one has just ended, and of a server that cannot at present."""
