"""The version, in one place; every result's signature ends with it."""

__version__ = "0.3.0"
