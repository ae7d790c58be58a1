"""A model lowers the verdict of the rules and never lifts it; a person decides on what is unknown,
by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import MIXED, READY, copy_of
from tests.investigator.running import Place, judged, model, opinion
from transom.cli import main
from transom.errors import InputError, Paused
from transom.investigator.dialogue import follow_up
from transom.investigator.inquiry import Inquiry
from transom.investigator.phases import investigate
from transom.investigator.report import html_report, markdown_report, text_report
from transom.investigator.result import Investigation
from transom.runs import Run

QUESTION = "Are group reservations fit for production?"


_LIAR = """
import json
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Provider, Reply, Text

JUDGES = {"verdict": "READY", "justification": "Waived by the CTO, so nothing is open [E1]."}

class Liar(Provider):
    name = "liar"

    def __init__(self, *args, **kwargs):
        pass

    async def complete(self, request, *, on_delta=None):
        if request.role == "investigator.main":
            return Reply((Text(json.dumps(JUDGES)),))
        if request.role == "investigator.follow_up":
            return Reply((Text("It is ready. The stakeholders agreed."),))
        raise NeedsModel([NotUnderstood(request.role, "role")])
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for folder in (READY, MIXED):
        copy_of(folder, tmp_path / "data")
    return Place(tmp_path, tmp_path / "data")


async def whole(run: Run, inquiry: Inquiry) -> Investigation:
    """Investigate, and ask a person where it needs one."""
    return await judged(run, await investigate(run, inquiry))


@pytest.mark.parametrize(
    "sentence",
    [
        "UAT is complete [E1].",
        "A waiver of the board lifts every gate [E5].",
        "All of it was approved by the release board [E2].",
        "Die Geschäftsführung hat alles freigezeichnet [E1].",
        "La direction assume tout [E1].",
        "Nothing that matters speaks against it.",
    ],
)
async def test_a_model_lifts_no_unknown_criterion(place: Place, sentence: str) -> None:
    true = "Acceptance testing has 3 scenarios that were not run [E41]."
    lifting = model({"main": opinion("READY", f"{sentence} {true}")})
    result = await place.ask(QUESTION, lifting)
    assert (result.verdict, result.rules_verdict, result.exit_code) == ("NEEDS_JUDGEMENT", None, 3)
    assert result.justification == true
    struck = {one.text: one for one in result.unsupported_claims}
    assert struck[sentence].where == "justification"
    assert "the rules judge NEEDS_JUDGEMENT" in struck["READY"].why
    for report in (text_report, markdown_report, html_report):
        assert "a model may only judge lower" in " ".join(report(result).split())


async def test_the_reasons_of_the_rules_stand_where_a_model_gives_none(place: Place) -> None:
    lifting = model({"main": opinion("READY", "A waiver lifts every gate [E1].")})
    result = await place.ask(QUESTION, lifting)
    rules = await place.ask(f"{QUESTION} Really?")
    assert result.justification == rules.justification


async def test_a_reader_calls_no_criterion_met_that_is_not(place: Place) -> None:
    false = "All stakeholders approved. The council is named."
    result = await place.ask(QUESTION, model({"reader": false}))
    summaries = [one.summary for one in result.sub_conversations]
    assert any("The council is named." in text for text in summaries)
    assert not any("All stakeholders approved" in text for text in summaries)
    claims = [one for one in result.unsupported_claims if "stakeholders" in one.text]
    assert "is unknown" in claims[0].why


async def test_a_lower_verdict_stands_beside_that_of_the_rules_in_every_report(
    place: Place,
) -> None:
    text = "The handbook forgets the north depot."
    lower = model({"main": opinion("NOT_READY", text)})
    result = await place.ask("Is Tool Maintenance Reminders ready for its next stage?", lower)
    assert (result.verdict, result.rules_verdict) == ("NOT_READY", "READY")
    assert result.justification == text
    assert result.model_dump(mode="json")["rules_verdict"] == "READY"
    for report in (text_report, markdown_report, html_report):
        assert "The rules alone judge READY." in report(result).replace("\\", "")


async def test_an_honest_ready_stays_as_it_is(place: Place) -> None:
    text = (
        "Everything that production asks for was measured and holds. No unit test fails. The"
        " security review approved, and so did all stakeholders. Acceptance testing passed."
    )
    honest = model({"main": opinion("READY", text, low="Old browsers were not tried.")})
    result = await place.ask("Is Tool Maintenance Reminders ready for its next stage?", honest)
    assert (result.verdict, result.rules_verdict, result.exit_code) == ("READY", None, 0)
    assert (result.justification, result.unsupported_claims) == (text, [])
    assert result.risks[-1].text == "Old browsers were not tried."
    assert "The rules alone" not in text_report(result)


async def test_a_person_decides_by_name(place: Place) -> None:
    with pytest.raises(Paused, match="--by NAME"):
        await place.ask(QUESTION, work=whole)

    async def anonymous(run: Run, inquiry: Inquiry) -> Any:
        await run.decide("READY", reason="few users")

    with pytest.raises(InputError, match="needs the name of the person"):
        await place.ask(QUESTION, work=anonymous)

    async def named(run: Run, inquiry: Inquiry) -> Any:
        await run.decide("READY", reason="few users", by="Ines Vogt")

    await place.ask(QUESTION, work=named)
    result = await place.ask(QUESTION, work=whole)
    assert (result.verdict, result.rules_verdict, result.exit_code) == (
        "NEEDS_JUDGEMENT",
        "NEEDS_JUDGEMENT",
        0,
    )
    assert result.judgement is not None and result.judgement.by == "Ines Vogt"
    for report in (text_report, markdown_report, html_report):
        shown = report(result).replace("\\", "")
        assert "Ines Vogt" in shown and "The rules alone judge NEEDS_JUDGEMENT." in shown


async def test_a_follow_up_is_held_to_the_status_and_to_a_persons_judgement(place: Place) -> None:
    await place.ask(QUESTION)
    text = (
        "The feature is ready. A waiver covers performance [E6]. Der Sicherheitsprüfung wurde"
        " zugestimmt. UAT passed 91.3 % of its scenarios [E44]."
    )
    liar = model({"follow_up": text})

    async def ask(run: Run, inquiry: Inquiry) -> Any:
        return await follow_up(run, f"And now, {len(run.records())}?", inquiry.data)

    said: Any = await place.ask(QUESTION, liar, work=ask)
    assert said.answer == "UAT passed 91.3 % of its scenarios [E44]."
    assert len(said.unsupported_claims) == 3

    async def person(run: Run, inquiry: Inquiry) -> Any:
        with pytest.raises(Paused):
            await judged(run, await investigate(run, inquiry))
        await run.decide("READY", reason="few users", by="Ines Vogt")

    await place.ask(QUESTION, work=person)
    said = await place.ask(QUESTION, liar, work=ask)
    assert said.answer.startswith("The feature is ready. UAT passed")
    assert len(said.unsupported_claims) == 2


def test_the_command_with_a_chain_that_ends_in_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    copy_of(MIXED, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    Path("liar.py").write_text(_LIAR)
    monkeypatch.syspath_prepend(tmp_path)
    asked = ["investigate", QUESTION, "--data", "data", "--model", "liar:Liar,rules"]
    assert main([*asked, "--format", "json", "-q"]) == 3
    out, err = capfd.readouterr()
    document = json.loads(out)
    assert (document["verdict"], document["rules_verdict"]) == ("NEEDS_JUDGEMENT", None)
    assert "CTO" not in document["justification"]
    assert "--by NAME" in err
    run = document["run_id"]
    assert main(["investigate", "So?", "--continue", run, "-q"]) == 0
    answered = capfd.readouterr().out
    assert answered.count("not supported: ") == 2
    assert main(["waiting"]) == 0
    assert f"transom answer {run}" in (listed := capfd.readouterr().out) and "--by NAME" in listed
    # A command that was pasted as it is printed names nobody.
    for nobody in ([], ["--by", "NAME"]):
        assert main(["answer", run, "READY", *nobody]) == 2
        assert "add: --by NAME, with your own name" in capfd.readouterr().err
    assert main(["answer", run, "READY", "--by", "Ines Vogt", "--reason", "few users"]) == 0
    capfd.readouterr()
    assert main(["resume", run, "--format", "json", "-q"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["judgement"]["verdict"] == "READY"
    assert document["rules_verdict"] == "NEEDS_JUDGEMENT"
