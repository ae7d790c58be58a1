"""Runs with a tool that must not run twice: `once_program.py RUNS`.

Each run calls the tool once, and the tool writes a line into the file `effects`. Whoever is killed
or cut off, no run may have two lines. A run whose call was cut off waits for a person.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from transom.agent import call
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import Paused, RunBusy, StoreError, TransomError
from transom.llm import (
    Block,
    Chain,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
)
from transom.runs import Stage, text_file
from transom.tools import Toolbox, ToolDefinition, ToolReturn
from transom.tools.definition import Arguments

EFFECTS = "effects"
_PARAMETERS = {
    "type": "object",
    "properties": {"n": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}


def note(name: str, line: str) -> None:
    with Path(name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


async def pay(arguments: Arguments) -> ToolReturn:
    number = str(arguments["n"])
    note(EFFECTS, number)
    await asyncio.sleep(0.2)
    return ToolReturn(f"paid {number}", {"n": number})


TOOLS = Toolbox([ToolDefinition("pay", "Pays.", _PARAMETERS, pay, "once")])  # type: ignore[arg-type]  # a plain dict is Json
ROLE = Role(
    "t.payer",
    (Block("role", "You.", Tier.STABLE),),
    frozenset({"role", "task", "now", "retry"}),
    tools=TOOLS.specs,
)


async def do_run(session: Session, number: int) -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(0.2)
        if not request.window.turns:
            return Reply((ToolCallPart("1", "pay", {"n": str(number)}),))
        return Reply((Text("ok"),))

    async def stage(at: Stage) -> str:
        answered = await call(at, ROLE, [Block("task", f"Pay {number}.")], str, tools=TOOLS)
        return answered.value

    async with session.open_store() as store:
        chain = Chain((ScriptedProvider(answer),))
        inputs = {"number": number}
        async with session.open_run(
            "once", inputs, name=f"once-{number}", store=store, chain=chain
        ) as run:
            await run.stage("talk", stage, out=text_file("talk.md"), uses=[ROLE])
            await run.finish("done")


def main(runs: int) -> None:
    session = Session.start(CommonOptions(quiet=True))
    for number in range(runs):
        while True:
            try:
                asyncio.run(do_run(session, number))
                note("finished", str(number))
            except Paused:
                note("doubted", str(number))
            except (RunBusy, StoreError):
                # Another process has the run, or the database is away.
                time.sleep(1)
                continue
            except TransomError as error:
                note("once_errors", f"{number}: {error}")
                time.sleep(1)
                continue
            break


if __name__ == "__main__":
    main(int(sys.argv[1]))
