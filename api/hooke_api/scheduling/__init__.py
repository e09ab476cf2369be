"""Scheduling and run states: scheduler, leader, queue, leases, transitions."""
