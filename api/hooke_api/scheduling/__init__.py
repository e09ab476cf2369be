"""Which run goes where, and a run's life: scheduler, leader, queue, leases, transitions."""
