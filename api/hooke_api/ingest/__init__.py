"""What supervisors send: read and checked as a whole, stored once, with the figures that follow from it."""
