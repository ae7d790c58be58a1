"""Strict parsers of models' replies; and the ids that a text cites."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from transom.errors import ReplyError
from transom.formats.measurements import MeasurementShape

CITED = re.compile(r"\[(E\d+)\]")
S = TypeVar("S", bound=MeasurementShape)


def read_plain(text: str) -> str:
    """Return the text of an answer.

    Raises:
        ReplyError: it is empty.
    """
    if not text.strip():
        raise ReplyError("the answer is empty")
    return text.strip()


def read_as(model: type[S], text: str) -> S:
    """Parse the JSON object of an answer, which may be fenced, into a model.

    Raises:
        ReplyError: it is not a JSON object, or has other fields.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        return model.model_validate(json.loads(text[start : end + 1]))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ReplyError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise ReplyError("the answer is not a JSON object") from error


def recited(text: str, ids: Mapping[str, str]) -> str:
    """Replace the ids that a text cites."""
    return CITED.sub(lambda match: f"[{ids.get(match[1], match[1])}]", text)
