"""Tables that need not fit in memory: partitions, and whoever works on them."""
