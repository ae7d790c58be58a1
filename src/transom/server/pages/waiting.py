"""*Waiting*: every open question with its evidence, answered in place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from transom.checklist.acceptance import is_accepted
from transom.errors import InputError, TransomError
from transom.investigator.report import page_parts
from transom.runs.answering import GivenAnswer, give_answer
from transom.runs.attempts import edit_in_question
from transom.runs.history import RunView
from transom.runs.open_questions import (
    OpenQuestion,
    WaitingRun,
    open_questions,
    questions_of,
    waiting_runs,
)
from transom.runs.questions import in_full, short_name
from transom.runs.summarising import WAITS_FOR_ANSWER, WAITS_FOR_WORK
from transom.server.children import resume
from transom.server.forms import form_of
from transom.server.names import keep_name, name_of, signature_of
from transom.server.rendering import page
from transom.server.run_results import investigation_of
from transom.server.schemas import Offset
from transom.server.site import PAGE_ROWS, Site
from transom.store import SummaryFilter

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_SHOWN_CHARACTERS = 100_000
_SHEET_FIELD = "answer/"
"""Begins the name of a field of a sheet: then the run, `/`, and the question."""


@dataclass(frozen=True)
class QuestionEvidence:
    """What a person looks at before the answer.

    Attributes:
        parts: of an investigation, see `page_parts`; empty if it judges none.
        findings: what is wrong with the work of a flow that gave up.
        text: the matter in full, e.g. the arguments of a tool call, or a diff.
        hidden: how many characters of it are not shown.
    """

    parts: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    hidden: int = 0
    findings: tuple[str, ...] = ()

    @property
    def is_diff(self) -> bool:
        """Whether the text is a diff."""
        return self.text.startswith("diff --git ")

    def to_json(self) -> dict[str, Any]:
        criteria = [row.model_dump(mode="json") for row in self.parts.get("ordered", ())]
        text = {"text": self.text, "hidden": self.hidden, "is_diff": self.is_diff}
        return {"criteria": criteria, "findings": [*self.findings], **text}


@dataclass(frozen=True)
class AskedQuestion:
    """An open question, and the run that it belongs to; of equal ones the first run's."""

    question: OpenQuestion
    run: RunView
    evidence: QuestionEvidence

    @property
    def title(self) -> str:
        """What a person calls the run."""
        return self.run.row.title

    @property
    def field_name(self) -> str:
        """The name of its field in a sheet."""
        return f"{_SHEET_FIELD}{self.run.row.id}/{self.question.question}"

    @property
    def action(self) -> str:
        """The address that takes the answer."""
        return f"/waiting/{quote(self.run.row.id, safe='')}"


@dataclass(frozen=True)
class WaitingList:
    """What waits for a person or a model, the longest-waiting first on each page."""

    questions: list[AskedQuestion]
    runs: list[WaitingRun]
    total: int

    @property
    def with_options(self) -> list[AskedQuestion]:
        """The questions that are answered by a choice."""
        return [asked for asked in self.questions if asked.question.options]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "transom.waiting/1",
            "questions": [
                entry.question.to_json() | {"evidence": entry.evidence.to_json()}
                for entry in self.questions
            ],
            "runs": [asdict(run) for run in self.runs],
        }


def waiting_of(site: Site, offset: int = 0) -> WaitingList:
    """Return what waits, one page of it."""
    views: list[RunView] = []
    only = SummaryFilter(waits=(WAITS_FOR_ANSWER, WAITS_FOR_WORK))
    for summary in site.runs.page(only, limit=PAGE_ROWS, offset=offset):
        views.append(site.runs.view(site.runs.row(summary)))
    # A question that several runs ask is shown once, with the first of them.
    by_id = {run.row.id: run for run in views}
    questions: list[AskedQuestion] = []
    for question in open_questions(views):
        run = by_id[question.runs[0]]
        questions.append(AskedQuestion(question, run, _evidence(site, run, question)))
    return WaitingList(questions, waiting_runs(views, is_accepted), site.waiting_count())


@router.get("/waiting")
def show_waiting(request: Request, offset: Offset = 0, answered: str = "") -> Response:
    """Show the open questions, and the runs that wait without one."""
    site: Site = request.app.state.site
    name = name_of(request)
    waiting = waiting_of(site, offset)
    values = {"waiting": waiting, "offset": offset, "rows": PAGE_ROWS, "name": name}
    values |= {"answered": answered, "given": {}, "problem": ""}
    return page(request, "waiting.html", values)


@router.get("/waiting/sheet")
def show_sheet(request: Request, offset: Offset = 0, answered: str = "") -> Response:
    """Show the open questions that have options as one form, to be answered in one sitting."""
    site: Site = request.app.state.site
    waiting = waiting_of(site, offset)
    values = {"waiting": waiting, "offset": offset, "rows": PAGE_ROWS, "answered": answered}
    values |= {"sheet": waiting.with_options, "name": name_of(request)}
    return page(request, "sheet.html", values)


@router.post("/waiting/sheet")
async def answer_sheet(request: Request) -> Response:
    """Take the answers of a sheet; each run goes on that waits for no further one."""
    site: Site = request.app.state.site
    form = form_of(await request.body())
    person, reason = signature_of(request, form), form.get("reason", "").strip()
    notes: list[str] = []
    count = 0
    for name, words in form.items():
        # A question without a choice is left open.
        if not name.startswith(_SHEET_FIELD) or not words:
            continue
        # The id of a run has no slash; the name of a question may have some.
        run_id, _, question = name.removeprefix(_SHEET_FIELD).partition("/")
        reply = GivenAnswer(words=words, question=question or None, person=person, reason=reason)
        try:
            await _give(site, site.runs.run(run_id), reply)
            count += 1
        # The other answers stand all the same.
        except TransomError as error:
            notes.append(f"Not answered: {error}")
    plural = "" if count == 1 else "s"
    # Shown by the next page, which a reload does not send again.
    note = " ".join([f"{count} question{plural} answered.", *notes])
    return keep_name(RedirectResponse(f"/waiting/sheet?answered={quote(note)}", 303), person)


@router.post("/waiting/{run_id}")
async def answer(request: Request, run_id: str) -> Response:
    """Take an answer, and go on with the run in a process of its own."""
    # htmx replaces the question by the note; a browser without scripts loads the page again.
    is_fragment = request.headers.get("hx-request") == "true"
    site: Site = request.app.state.site
    form = form_of(await request.body())
    run = site.runs.run(run_id)
    reply = GivenAnswer(
        words=form.get("answer", "").strip(),
        question=form.get("question") or None,
        person=signature_of(request, form),
        reason=form.get("reason", "").strip(),
    )
    try:
        note = f"Answered {reply.words}. {await _give(site, run, reply)}"
    except TransomError as error:
        if not is_fragment:
            raise
        note = f"Not answered: {error}"
        for question in questions_of(run):
            if question.question == form.get("question", ""):
                asked = AskedQuestion(question, run, _evidence(site, run, question))
                # The form stays, with what the person filled in.
                values = {"asked": asked, "given": form, "problem": note, "name": reply.person}
                return page(request, "_question.html", values)
    if is_fragment:
        response: Response = page(request, "_answered.html", {"note": note, "run_id": run_id})
    else:
        response = RedirectResponse(f"/waiting?answered={quote(note)}", 303)
    # The next answer need not repeat the name.
    return keep_name(response, reply.person)


async def _give(site: Site, run: RunView, reply: GivenAnswer) -> str:
    """Answer the question of a run; return how the run goes on."""
    if not reply.person:
        raise InputError(
            "the answer has no name", hint="write your name; it is kept with the answer"
        )
    workspace, store = site.runs.workspace, site.runs.store
    recorded = await give_answer(workspace, store, run, reply)
    # A stage may wait for the answers to several questions.
    if recorded.remaining:
        return f"Run {run.row.name} waits for another answer."
    try:
        resume(site.runs, site.runs.run(run.row.id))
    # The answer is kept all the same, and `transom resume` goes on with it.
    except TransomError as error:
        return f"Run {run.row.name} does not go on by itself: {error}"
    return f"Run {run.row.name} continues."


@api.get("/waiting")
def waiting_document(request: Request, offset: Offset = 0) -> dict[str, Any]:
    """Get the open questions of runs, and the runs that wait without one."""
    return waiting_of(request.app.state.site, offset).to_json()


def _evidence(site: Site, run: RunView, question: OpenQuestion) -> QuestionEvidence:
    """Return what a question rests on."""
    if not question.question and run.state.handed:
        return QuestionEvidence(findings=tuple(run.state.handed.get("findings", ())))
    folder = site.runs.workspace.run_folder(run.row.name, run.row.id)
    for choice in run.state.waiting.values():
        if short_name(choice) != question.question:
            continue
        text = str(choice.get("evidence", "")) or (in_full(choice) if "tool" in choice else "")
        if "file" in choice:
            text = edit_in_question(choice, folder)
        if text:
            hidden = max(0, len(text) - _SHOWN_CHARACTERS)
            return QuestionEvidence(text=text[:_SHOWN_CHARACTERS], hidden=hidden)
    investigation = investigation_of(site, run.row) if run.row.kind == "investigate" else None
    return QuestionEvidence(page_parts(investigation) if investigation else {})
