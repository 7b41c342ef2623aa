"""Rows with ids, matched across files, on one scale: the tables of a study."""
