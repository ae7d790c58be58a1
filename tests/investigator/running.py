"""Runs of an investigation with providers of a test's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.investigator.helpers import TODAY
from transom.investigator.dialogue import judged
from transom.investigator.inquiry import Inquiry
from transom.investigator.phases import investigate
from transom.investigator.policy import CriterionWaiver, load_policy
from transom.investigator.result import Investigation
from transom.investigator.rules import investigator_rules
from transom.investigator.sources import DataFolder
from transom.learning import Playbook
from transom.llm import Chain, Provider, Reply, Request, ScriptedProvider, Text
from transom.runs import Run, Workspace

Answer = Callable[[Request], str | None]


def model(answers: dict[str, Answer | str], log: list[Request] | None = None) -> ScriptedProvider:
    """A model that answers some roles in its own way, and the others as the rules do."""
    rules = investigator_rules()

    async def answer(request: Request) -> Reply:
        if log is not None:
            log.append(request)
        own = answers.get(request.role.partition(".")[2])
        text = own(request) if callable(own) else own
        return await rules.complete(request) if text is None else Reply((Text(text),))

    return ScriptedProvider(answer)


def opinion(verdict: str, justification: str = "", **risks: str) -> str:
    """What the main role answers."""
    rows = [{"text": text, "severity": severity} for severity, text in risks.items()]
    return json.dumps({"verdict": verdict, "justification": justification, "risks": rows})


class Place:
    """A workspace in which investigations of one data folder are made."""

    def __init__(
        self, folder: Path, data: Path, after_append: Callable[[int], None] | None = None
    ) -> None:
        self.workspace, self.data, self.after_append = (
            Workspace.at(folder / "w"),
            data,
            after_append,
        )
        self.progress: list[str] = []
        self.playbook: Playbook | None = None

    async def ask(
        self,
        question: str,
        provider: Provider | None = None,
        *,
        target: str | None = None,
        waivers: tuple[CriterionWaiver, ...] = (),
        work: Callable[[Run, Inquiry], Any] | None = None,
    ) -> Investigation:
        """Investigate; `work` is done in the run instead, where it is given."""
        chain = Chain((provider or investigator_rules(),))
        inputs = {"question": question, "target": target}
        async with self.workspace.open_store(after_append=self.after_append) as store:
            run = await Run.open(
                "investigate", inputs, name="q", workspace=self.workspace, store=store, chain=chain
            )
            run.progress = self.progress.append
            async with run:
                inquiry = Inquiry(
                    question,
                    DataFolder(self.data),
                    load_policy(),
                    TODAY,
                    target,
                    waivers,
                    None,
                    self.playbook,
                )
                result: Investigation = await (work or investigate)(run, inquiry)
                return result


__all__ = ["Place", "judged", "model", "opinion"]
