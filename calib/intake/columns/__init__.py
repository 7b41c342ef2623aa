"""What a column is, by its name, its cells and those beside it."""
