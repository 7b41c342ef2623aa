"""A run as one page in the browser: its items, filters, slices, what changed since another run, calls."""
