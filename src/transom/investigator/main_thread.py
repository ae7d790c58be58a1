"""The main conversation of a case: it judges, answers follow-ups, and can have sources read
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from transom.agent import Agent, SubAgent
from transom.errors import InputError, ReplyError, ToolRefused
from transom.formats.measurements import Reading
from transom.investigator.features import Feature
from transom.investigator.gathering import sources_of
from transom.investigator.ledger import Ledger
from transom.investigator.roles import CLOSELY, role_of
from transom.investigator.sources import DataFolder
from transom.investigator.tools import jira_tool, reading_tools, shortened
from transom.llm import Block, Usage
from transom.runs import Run
from transom.tools import Arguments, ToolDefinition, ToolReturn
from transom.tools.calculator import calculator

T = TypeVar("T")
_READ = "Have sources of the feature read again for something that the summaries leave open."


class MainThread:
    """A conversation in a run, found again by its name.

    Args:
        name: the case's name; changed data make another case.
        feature_id: the one feature that its reader may read.
        ledger: receives passages cited and values calculated in the conversation.
    """

    def __init__(
        self, run: Run, name: str, data: DataFolder, feature_id: str, ledger: Ledger
    ) -> None:
        self._run, self._name = run, name
        feature = data.feature(feature_id)
        lists = [
            jira_tool(data),
            *(tool for tool in reading_tools(data) if tool.name == "list_docs"),
        ]
        own = [
            *map(shortened, lists),
            calculator(ledger.value_of, ledger.calculated),
            cite_tool(data, feature, ledger),
        ]
        reading = [*reading_tools(data, feature), cite_tool(data, feature, ledger)]
        self._tools: list[ToolDefinition] = [
            *own,
            SubAgent(role_of(CLOSELY), "read_closely", _READ, reading),
        ]

    async def ask(
        self,
        role: str,
        text: str,
        blocks: Sequence[Block],
        read: Callable[[str], T],
        *,
        id: str,  # noqa: A002  as send
    ) -> tuple[T, Usage]:
        """Send a message and read the answer; ask once more if it cannot be read.

        Raises:
            ReplyError: two answers could not be read.
            ProviderError and others: see `Agent.send`.
        """
        async with Agent(role_of(role), at=self._run.named(self._name), tools=self._tools) as agent:
            await agent.resume()
            response = await agent.send(text, *blocks, id=id)
            try:
                return read(response.text), response.usage
            except ReplyError as error:
                retry_text = f"Your answer could not be read: {error}\nGive the whole answer again."
                second = await agent.send(retry_text, *blocks, id=f"{id}/again")
                return read(second.text), response.usage + second.usage


def cite_tool(data: DataFolder, feature: Feature, ledger: Ledger) -> ToolDefinition:
    """Return the tool `cite`, which adds a passage to the ledger after a check that it contains
    the value.
    """
    allowed = {entry.source for entry in sources_of(data, feature)}

    def record(source: str, locator: str, value: str) -> str:
        if source not in allowed:
            raise InputError(
                f"{source!r} is not a source of {feature.feature_id}",
                place="cite",
                hint="see list_docs",
            )
        reading = Reading(source=source, kind="document", name="cited", sha256=data.digest(source))
        return ledger.cited(reading, locator, value)

    def cite(arguments: Arguments) -> ToolReturn:
        source, locator, value = (str(arguments[name]) for name in ("source", "locator", "value"))
        try:
            return ToolReturn({"id": record(source, locator, value)}, note=[source, locator, value])
        except InputError as error:
            raise ToolRefused(error.problem, place=error.place, hint=error.hint) from error

    def recall(note: object) -> None:
        with suppress(InputError):  # the source may have changed since
            record(*map(str, note if isinstance(note, list) else ()))

    texts = {
        "source": "A path of the data folder, e.g. feature1/planning/DESIGN_DOC.md",
        "locator": "A JSON pointer such as /summary/failed, or line:12, or lines:12-14",
        "value": "The number or the words, exactly as they stand there",
    }
    parameters = {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text} for name, text in texts.items()
        },
        "required": [*texts],
        "additionalProperties": False,
    }
    description = (
        "Puts a passage of a source into the evidence ledger and gives it an id that can be cited."
    )
    return ToolDefinition("cite", description, parameters, cite, effect="pure", recall=recall)  # type: ignore[arg-type]  # JSON of strings
