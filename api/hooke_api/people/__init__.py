"""Users: invitations, passwords, sessions, tokens, and the audit trail as resources."""
