"""Doors for other tools' results: one private reader for each, none imports its tool."""
