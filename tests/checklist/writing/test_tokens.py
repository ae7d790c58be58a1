"""How many input tokens an ItemSpec takes. The embedded rules answer, so it is a count, the same
everywhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.spec_tokens import CHECKS, everything, rounds_of

from transom.runs.windows import window_tokens

BAR = -0.60


@pytest.mark.parametrize("name", ["VER-01", "STA-01"])
async def test_rounds_take_much_less_than_everything_in_every_round(
    name: str, tmp_path: Path
) -> None:
    rows, configurations = await rounds_of(CHECKS / f"{name}.yaml", tmp_path)
    assert [row["role"] for row in rows] == [
        f"checklist.{tag}" for tag in ("analysis", *(f"section{n}" for n in range(1, 5)))
    ]
    seen = sum(map(window_tokens, rows))
    assert seen / everything(rows, configurations) - 1 <= BAR
