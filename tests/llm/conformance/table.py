"""`python -m tests.llm.conformance.table`: the table, as measured now."""

from __future__ import annotations

import asyncio
import sys

from tests.llm.conformance.behaviours import BEHAVIOURS, NOT_APPLICABLE
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.harness import faults, run_cell
from tests.llm.conformance.server import LocalServer
from tests.llm.conformance.structured import ADAPTERS, ASKINGS, ask
from tests.llm.conformance.structured import faults as structured_faults


async def measure() -> tuple[list[list[str]], int]:
    """The rows as texts, and how many cells are not as they must be."""
    rows, wrong = [["behaviour", *(dialect.name for dialect in DIALECTS)]], 0
    with LocalServer() as server:
        for behaviour in BEHAVIOURS:
            row = [behaviour.name]
            for dialect in DIALECTS:
                if why := NOT_APPLICABLE.get((behaviour.name, dialect.name)):
                    row.append(f"n/a: {why}")
                    continue
                cell = await run_cell(server, dialect, behaviour)
                found = faults(cell, dialect, behaviour)
                wrong += bool(found)
                row.append(f"{cell}{' WRONG: ' + '; '.join(found) if found else ''}")
            rows.append(row)
    return rows, wrong


async def measure_structured() -> tuple[list[list[str]], int]:
    """The same of answers that are to follow a schema."""
    rows, wrong = [["behaviour", *(dialect.title for dialect in ADAPTERS)]], 0
    with LocalServer() as server:
        for asking in ASKINGS:
            row = [asking.name]
            for dialect in ADAPTERS:
                outcome = await ask(server, dialect, asking)
                found = structured_faults(outcome, dialect, asking)
                wrong += bool(found)
                row.append(f"{outcome}{' WRONG: ' + '; '.join(found) if found else ''}")
            rows.append(row)
    return rows, wrong


def _print(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        sys.stdout.write(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            + "\n"
        )


def main() -> int:
    rows, wrong = asyncio.run(measure())
    _print(rows)
    sys.stdout.write(
        "\nreply: stop reason, tokens in/cached/out, requests seen, a dot per piece of text heard\n"
    )
    sys.stdout.write(
        "error: class, whether it is asked again (two attempts are allowed), requests the server"
        " saw\n"
    )
    structured, more = asyncio.run(measure_structured())
    sys.stdout.write("\n")
    _print(structured)
    sys.stdout.write(
        "\nanswer or error: of each request the server saw, how it told of the schema, and what"
        " else it had\n"
    )
    return 1 if wrong + more else 0


if __name__ == "__main__":
    raise SystemExit(main())
