"""A small conversation with tools, to be walked in a process of its own and killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

from tests.forked import attempt
from transom.agent import Answer, call
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import RunError
from transom.llm import (
    AssistantMessage,
    Block,
    Chain,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
)
from transom.runs import Stage, text_file
from transom.tools import Toolbox, ToolDefinition, ToolReturn
from transom.tools.definition import Arguments

_PARAMETERS = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
    "additionalProperties": False,
}
LOOK = ToolSpec("look", "Looks.", _PARAMETERS)  # type: ignore[arg-type]  # a plain dict is Json
TOOL_ROLE = Role(
    "t.seat",
    (Block("role", "You.", Tier.STABLE),),
    frozenset({"role", "task", "now", "retry"}),
    tools=(LOOK,),
)


def calls_of(answer: Answer[str]) -> list[tuple[ToolCallPart, ToolResultPart]]:
    """Each call that was made before an answer, with its result."""
    made = [
        call
        for turn in answer.request.window.turns
        if isinstance(turn, AssistantMessage)
        for call in turn.calls
    ]
    came = [
        result
        for turn in answer.request.window.turns
        if isinstance(turn, ToolResults)
        for result in turn.results
    ]
    return list(zip(made, came, strict=True))


class EventLog:
    """A tool that writes down what it was asked for."""

    def __init__(self, log: Callable[[str], None] | None = None) -> None:
        self.carried_out: list[str] = []
        self.recalled: list[object] = []
        self.killing = True
        self._log = log or (lambda line: None)

    def tools(self, effect: str = "pure") -> list[ToolDefinition]:
        kind = cast("Literal['pure', 'idempotent', 'once']", effect)
        return [
            ToolDefinition(
                LOOK.name,
                LOOK.description,
                LOOK.parameters,
                self._look,
                kind,
                fresh=True,
                recall=self.recalled.append,
            )
        ]

    async def _look(self, arguments: Arguments) -> ToolReturn:
        at = str(arguments["at"])
        if at == "slow":
            await asyncio.sleep(0.02)
        if at == "break":
            raise ValueError("broken")
        if at == "lost" and self.killing:
            raise RunError("killed here")
        self.carried_out.append(at)
        self._log(f"did {at}")
        return ToolReturn(f"saw {at}", {"at": at})


def walk(work: Path, failpoint: int) -> int:
    """Walk the conversation in a process of its own; its wait status."""
    environ = {"TRANSOM_FAILPOINT": f"append:{failpoint}"} if failpoint else {}
    session = Session.start(
        CommonOptions(quiet=True, workspace=work / "w"), cwd=work, environ=environ
    )
    return attempt(lambda: asyncio.run(_walk(session, work)))


async def _walk(session: Session, work: Path) -> None:
    def log(line: str) -> None:
        with (work / "log.txt").open("a", encoding="utf-8") as out:
            out.write(line + "\n")

    def answer(request: Request) -> Reply:
        turns = len(request.window.turns)
        log(f"asked after {turns}")
        if turns == 0:
            return Reply(
                (
                    Text("Two."),
                    ToolCallPart("1", "look", {"at": "a"}),
                    ToolCallPart("1", "look", {"at": "b"}),
                )
            )
        if turns == 2:
            return Reply(
                (ToolCallPart("1", "look", {"at": "c"}), ToolCallPart("", "look", {"at": "d"}))
            )
        return Reply((Text("ok"),))

    ledger = EventLog(log)

    async def stage(at: Stage) -> str:
        answered = await call(
            at, TOOL_ROLE, [Block("task", "Look.")], str, tools=Toolbox(ledger.tools())
        )
        told = [f"{made.arguments} {came.content}" for made, came in calls_of(answered)]
        return "\n".join([answered.value, *told])

    async with session.open_store() as store:
        chain = Chain((ScriptedProvider(answer),))
        async with session.open_run("test", {}, name="x", store=store, chain=chain) as run:
            left = await run.stage("talk", stage, out=text_file("talk.md"), uses=[TOOL_ROLE])
            await run.finish("done")
    (work / "answer.txt").write_text(left.value)
