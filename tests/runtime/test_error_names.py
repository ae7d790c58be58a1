"""The earlier names of an error's parts are accepted for one more version."""

from __future__ import annotations

import pytest

from transom.errors import InputError, ProviderError, TransomError


@pytest.mark.parametrize("kind", [TransomError, InputError, ProviderError])
def test_where_is_the_earlier_name_of_place(kind: type[TransomError]) -> None:
    with pytest.warns(DeprecationWarning, match="`where` of an error is called `place` now"):
        error = kind("it is broken", where="shop.yaml:3")
    assert str(error) == "shop.yaml:3: it is broken"
    assert error.place == "shop.yaml:3"


def test_an_argument_of_no_such_name_is_refused() -> None:
    with pytest.raises(TypeError, match="no argument named 'wher'"):
        InputError("it is broken", wher="shop.yaml:3")
