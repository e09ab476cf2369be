"""Webhooks: signed requests to other servers when runs and experiments start or end."""
