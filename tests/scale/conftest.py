from conftest_scale import cut, items, pairs, ratings

__all__ = ["cut", "items", "pairs", "ratings"]
