"""Shared by all tests. Nothing heavy here: tests/stats runs where there is no pandas."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
