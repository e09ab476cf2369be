"""The queues of the clusters as resources: who waits, why, until when, under which policy."""
