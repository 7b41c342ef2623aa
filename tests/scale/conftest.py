from conftest_scale import cut, items, ratings

__all__ = ["cut", "items", "ratings"]
