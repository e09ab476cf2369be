"""`hooke up` and `hooke demo`: all components on one machine."""
