"""`hooke up` and `hooke demo`: everything on one machine, started together, restarted singly, stopped together."""
