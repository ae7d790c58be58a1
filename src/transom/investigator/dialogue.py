"""After the answer: a person's judgement, and follow-up questions."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from transom.canonical import digest
from transom.errors import InputError
from transom.formats.release.shapes import Shape
from transom.investigator.concluding import Kept, case_blocks, known_names
from transom.investigator.ledger import Ledger
from transom.investigator.main_thread import MainThread
from transom.investigator.replies import read_plain
from transom.investigator.result import Investigation, Judgement, Unsupported, Verdict
from transom.investigator.roles import FOLLOW_UP, json_rows
from transom.investigator.sources import DataFolder
from transom.runs import Run

_PROMPT = 600  # characters of a question to a person, at most
_JUDGED: tuple[Verdict, ...] = ("READY", "NOT_READY")


class FollowUp(Shape):
    """A follow-up question and its answer."""

    question: str
    answer: str
    unsupported_claims: list[Unsupported] = Field(default_factory=list)


async def judged(run: Run, result: Investigation) -> Investigation:
    """Ask a person about a verdict that needs judgement, and add the person's verdict.

    Raises:
        Paused: no person has judged yet; the first verdict stands.
    """
    if result.verdict != "NEEDS_JUDGEMENT":
        return result
    unclear = "; ".join(
        one.name for one in result.criteria if one.status == "unknown" and one.required
    )
    prompt = f"Is {result.feature_name} ready for {result.target_stage}? Not clear: {unclear}"[
        :_PROMPT
    ]
    answer = await run.ask("judgement", prompt, options=list(_JUDGED))
    verdict = next((one for one in _JUDGED if one == answer.text), result.verdict)
    judgement = Judgement(verdict=verdict, by=answer.by, reason=answer.reason, asked=result.verdict)
    return result.model_copy(update={"judgement": judgement})


async def follow_up(
    run: Run, question: str, data: DataFolder, memory: Sequence[str] = ()
) -> FollowUp:
    """Answer a question about an investigation in its kept thread, with its ledger.

    Args:
        memory: sentences from the memory of other investigations.

    Raises:
        InputError: the run has no answer yet.
    """
    place = run.folder / "answer" / "investigation.json"
    if not place.is_file():
        raise InputError("this run has no answer yet", where=run.id)
    kept = Kept.model_validate_json(place.read_bytes())
    result, ledger = kept.investigation, Ledger(data.read, kept.investigation.evidence)
    blocks = [
        *case_blocks(result.model_copy(update={"question": question}), kept.shown, ledger),
        json_rows("memory", [{"text": one} for one in memory]),
    ]
    main = MainThread(run, kept.thread, data, result.feature_id, ledger)
    text, _ = await main.ask(
        FOLLOW_UP, question, blocks, read_plain, id=f"follow-up/{digest(question)[:12]}"
    )
    checked = ledger.check(text, names=[question, *known_names(result), *memory])
    struck = [
        Unsupported(text=one.sentence, why=one.why, where="follow-up") for one in checked.struck
    ]
    return FollowUp(question=question, answer=checked.text, unsupported_claims=struck)
