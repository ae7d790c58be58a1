"""Log text never leaves the machine where a user says so: canaries, and a provider that is not
on this machine.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import REPORT
from tests.checklist.test_pipeline import ITEM, SPEC, manner
from tests.checklist.test_visibility import replies
from transom.checklist.item import load_item
from transom.checklist.manner import Places
from transom.checklist.pipeline import checker_of
from transom.cli.chains import build_chain
from transom.config import load_settings
from transom.errors import EgressError, SettingsError
from transom.llm import (
    Block,
    Chain,
    EgressPolicy,
    Request,
    ScriptedProvider,
    ToolResultPart,
    ToolResults,
    Window,
    render,
)
from transom.llm.naming import Surroundings
from transom.runs import Run, Workspace
from transom.store import SqliteStore

CANARIES = ("canarylog", "power.rpt")


def policy_of(folder: Path, text: str, **environ: str) -> EgressPolicy:
    """The policy that a settings file or variables yield, by the door that every command uses."""
    (folder / "transom.yaml").write_text(text, "utf-8")
    settings = load_settings(folder, environ=environ)
    return build_chain("rules", Surroundings(folder, settings)).policy


async def built(folder: Path, policy: EgressPolicy, *, local: bool = False) -> tuple[str, str]:
    """Build a checker with a scripted provider: all that it was sent, and the error that stopped
    it.
    """
    (folder / "power.rpt").write_text(f"{REPORT}canarylog\n")
    (folder / "BLOCK-1.yaml").write_text(ITEM)
    item = load_item(folder / "BLOCK-1.yaml")
    provider = ScriptedProvider(replies(), name="far", local=local)
    workspace = Workspace.at(folder / ".transom")
    said = ""
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((provider,), policy)
        async with await Run.open(
            "check", {"i": 1}, name="i", workspace=workspace, store=store, chain=chain
        ) as run:
            try:
                await checker_of(run, SPEC, item, Places(), manner(), folder=None)
            except EgressError as error:
                said = str(error)
    return "\n".join(render(request).as_text() for request in provider.requests), said


KEPT = {
    "logs: local": ("{egress: {logs: local}}", {}, "available_files"),
    "by name": ("{egress: {local_blocks: [available_files, log_snippets]}}", {}, "available_files"),
    "by pattern": ("{egress: {local_blocks: ['*_files', 'log_*']}}", {}, "available_files"),
    "a variable": ("", {"TRANSOM_EGRESS__LOGS": "local"}, "available_files"),
    "a list in a variable": (
        "",
        {"TRANSOM_EGRESS__LOCAL_BLOCKS": "log_snippets, section_2"},
        "log_snippets",
    ),
}


@pytest.mark.parametrize("how", KEPT)
async def test_log_text_stays_here(how: str, tmp_path: Path) -> None:
    text, environ, block = KEPT[how]
    sent, said = await built(tmp_path, policy_of(tmp_path, text, **environ))
    assert said.startswith(
        f"checklist.parser: block {block} is marked local and would reach the remote provider far; "
    )
    assert not [word for word in CANARIES if word in sent]


async def test_it_is_sent_where_nobody_minds_and_where_it_stays_here_anyway(tmp_path: Path) -> None:
    for name, policy, local in (
        ("any", EgressPolicy(), False),
        ("near", EgressPolicy(keep_untrusted=True), True),
    ):
        (tmp_path / name).mkdir()
        sent, said = await built(tmp_path / name, policy, local=local)
        assert said == ""
        assert [word for word in CANARIES if word in sent] == list(CANARIES)


def test_the_recorded_window_says_what_was_local() -> None:
    blocks = (Block("log_snippets", "x", trust="untrusted"), Block("section_1", "y"))
    request = Request("r", Window(blocks))
    assert EgressPolicy().mark(request) is request
    marked = EgressPolicy(("log_*",)).mark(request)
    assert [block.egress for block in marked.window.blocks] == ["local", "any"]
    assert render(marked) == render(request)


def test_answers_of_tools_stay_with_the_logs() -> None:
    result = ToolResultPart("1", "search_in_file", "line 3 of the log")
    turned = Request("r", Window((Block("section_1", "y"),), (ToolResults((result,)),)))
    assert EgressPolicy(keep_untrusted=True).local_part(turned) == "the conversation so far"
    assert EgressPolicy(("log_*",)).local_part(turned) is None
    local = Request("r", Window((), (ToolResults((replace(result, egress="local"),)),)))
    assert EgressPolicy().local_part(local) == "a result of tool search_in_file"


def test_a_name_that_keeps_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        policy_of(tmp_path, "egress:\n  local_blocks: [log_snippet]\n")
    said = "egress.local_blocks: no role sees a block 'log_snippet'; did you mean log_snippets?"
    assert str(caught.value) == f"{tmp_path}/transom.yaml:2: {said}"
    for text in (
        "egress: {logs: never}",
        "egress: {local_blocks: ['']}",
        "egress: {local_blocks: 3}",
    ):
        with pytest.raises(SettingsError, match=r"transom\.yaml:1: egress\."):
            policy_of(tmp_path, text)
