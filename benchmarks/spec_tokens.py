"""Input tokens of an ItemSpec's five rounds against rounds that each see every prompt and every
earlier output.

Same item, same prompts, same estimator. Written replies answer, so the figure is a count, the
same on every machine. The bar is -60 %.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.checklist.shipped_model import MODEL, without_claim

from transom.checklist.item import parse_item
from transom.checklist.pipeline import spec_of
from transom.checklist.writing.views import ROUND_VIEWS, load_prompt
from transom.cli.check.options import CheckArguments, manner_of, places_of
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.llm import estimate_tokens
from transom.runs.windows import window_tokens
from transom.store import Store

CHECKS = Path(__file__).resolve().parents[1] / "examples" / "checks"


async def rounds_of(path: Path, work: Path) -> tuple[list[Any], list[int]]:
    """The journaled replies of the five rounds, and the tokens of the item's configuration in
    each.
    """
    # A model answers, since the embedded default asks no role.
    common = CommonOptions(workspace=work / "w", quiet=True, model=MODEL)
    session = Session.start(common, cwd=work)
    options = CheckArguments(item=path, variables=(f"CHECKLIST_ROOT={CHECKS / 'data'}",))
    item = parse_item(without_claim(path.read_text(encoding="utf-8")), path)
    manner = manner_of(session, options, needs_sandbox=False)
    async with session.open_store() as store:
        async with session.open_run(
            "check", {"item": item.item_id}, name=item.item_id, store=store
        ) as run:
            await spec_of(run, item, places_of(session, options, None), manner)
        rows: list[Any] = [
            record.data for record in store.read(f"run/{run.id}") if record.kind == "model_reply"
        ]
        return rows, [_configuration(store, row) for row in rows]


def _configuration(store: Store, row: Any) -> int:
    blocks = json.loads(store.get_blob(row["window"]["request"]))["blocks"]
    return sum(
        estimate_tokens(block["text"]) for block in blocks if block["name"] == "configuration"
    )


def _written(row: Any) -> int:
    parts = row["reply"]["parts"]
    return sum(estimate_tokens(part["text"]) for part in parts if part["kind"] == "text")


def everything(rows: list[Any], configurations: list[int]) -> int:
    """What the rounds would take if each saw all prompts, the item, and all that was written
    before it.
    """
    files = dict.fromkeys(prompt.file for view in ROUND_VIEWS.values() for prompt in view.prompt)
    prompts = sum(estimate_tokens(load_prompt(file)) for file in files)
    outputs = [_written(row) for row in rows]
    return sum(
        prompts + configuration + sum(outputs[:n]) for n, configuration in enumerate(configurations)
    )


def main() -> None:
    """Print one line an item."""
    for name in ("VER-01", "STA-01"):
        with tempfile.TemporaryDirectory() as work:
            rows, configurations = asyncio.run(rounds_of(CHECKS / f"{name}.yaml", Path(work)))
        seen = sum(map(window_tokens, rows))
        whole = everything(rows, configurations)
        sys.stdout.write(
            f"{name}: {seen} of {whole} input tokens, {100 * (seen / whole - 1):+.1f} % (bar -60"
            " %)\n"
        )


if __name__ == "__main__":
    main()
