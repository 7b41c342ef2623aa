"""What a function says when it refuses."""

import pytest


def message(function, *args, **options):
    with pytest.raises(ValueError) as caught:
        function(*args, **options)
    return str(caught.value)
