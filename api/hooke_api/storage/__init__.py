"""The database: transactions, the events of a transaction, and chunks of steps as columns."""
