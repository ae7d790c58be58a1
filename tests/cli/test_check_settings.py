"""Every setting that `check` obeys, changed, with its effect."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from unittest.mock import patch

import pytest

from tests.agent.test_settings import OBEYED as OF_AGENTS
from tests.cli.checks import Desk, edit
from tests.cli.test_hosted_settings import OBEYED as HOSTED
from tests.llm.conformance.server import LocalServer
from tests.telemetry.test_otlp import finish, sent
from transom.checklist.building.settings import BuildSettings
from transom.checklist.writing.views import VIEWS
from transom.cli.check.options import CheckArguments, manner_of
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.config import known_keys
from transom.context import SHARES, WindowBudget
from transom.errors import SandboxUnavailable
from transom.sandbox import Level, Sandbox
from transom.store.committer import Committer
from transom.telemetry.destination import destination
from transom.telemetry.otlp import exporter_to


@pytest.fixture
def desk(model_desk: Desk) -> Desk:
    return model_desk


def settle(desk: Desk, text: str) -> None:
    (desk.here / "transom.yaml").write_text(text, "utf-8")


def search_root(desk: Desk) -> None:
    desk("check", "all", "VER-01.yaml", "-q").line()
    settle(desk, "paths: {search_root: data}\n")
    answer = desk("check", "all", "VER-01.yaml", "--format", "json", "-q")
    assert (answer.code, answer.document["inputs"][0]["path"]) == (0, "updown/sta_signoff.log")
    (desk.here / "data" / "logs").mkdir()
    shutil.copy("data/updown/setup_signoff.rpt", "data/logs/mine.rpt")
    edit(
        desk.here / "STA-01.yaml",
        "${CHECKLIST_ROOT}/updown/setup_signoff.rpt",
        "${LOG_ROOT}/mine.rpt",
    )
    assert desk("check", "all", "STA-01.yaml", "-q").code == 0, "LOG_ROOT is its logs/"


def item_specs_dir(desk: Desk) -> None:
    settle(desk, "paths: {item_specs_dir: specs}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert (desk.here / "specs" / "VER-01_ItemSpec.md").is_file()
    desk("check", "spec", "VER-01.yaml", "-q", "-o", "told")
    assert (desk.here / "told" / "VER-01_ItemSpec.md").is_file(), "-o counts more"


def output_dir(desk: Desk) -> None:
    settle(desk, "paths: {output_dir: checkers}\n")
    desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
    desk.check("build", "specs/VER-01_ItemSpec.md", "--item", "VER-01.yaml", "-q")
    assert (desk.here / "checkers" / "VER-01_checker" / "atoms.py").is_file()


def cache_dir(desk: Desk) -> None:
    settle(desk, "paths: {cache_dir: kept}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert (desk.here / "kept" / "state.db").is_file()
    assert not (desk.here / ".transom").exists()


def workspace(desk: Desk) -> None:
    settle(desk, "workspace: elsewhere\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert (desk.here / "elsewhere" / "runs" / "VER-01").is_dir()


def state_dir(desk: Desk) -> None:
    settle(desk, "state_dir: local\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert (desk.here / "local" / "state.db").is_file()
    assert not (desk.here / ".transom" / "state.db").exists()
    assert (desk.here / ".transom" / "runs" / "VER-01").is_dir()


def store(desk: Desk) -> None:
    # Nothing listens on this port, so the address shows in the error.
    address = "postgresql://nobody@127.0.0.1:1/none"
    settle(desk, f"store: {address}\n")
    answer = desk("check", "spec", "VER-01.yaml", "-q")
    assert answer.code == 2
    assert f"{address}: the database cannot be reached" in answer.err
    assert not (desk.here / ".transom" / "state.db").exists()


def durability(desk: Desk) -> None:
    """What a full sync does: tests/store/test_io_faults.py."""
    for setting, expected in (("full", True), ("standard", False)):
        settle(desk, f"durability: {setting}\n")
        with patch("transom.store.sqlite.Committer", wraps=Committer) as made:
            desk("check", "spec", "VER-01.yaml", "-q")
        assert {call.kwargs["full_sync"] for call in made.call_args_list} == {expected}


def artifacts(desk: Desk) -> None:
    settle(desk, "paths: {artifacts: database}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    runs = desk.here / ".transom" / "runs"
    before = {path.name: path.read_bytes() for path in runs.rglob("*ItemSpec.md")}
    shutil.rmtree(runs)
    desk("runs", "fetch", "VER-01")
    assert (
        before and {path.name: path.read_bytes() for path in runs.rglob("*ItemSpec.md")} == before
    )
    replies = len(desk.records("model_reply"))
    desk("check", "spec", "VER-01.yaml", "-q")
    assert len(desk.records("model_reply")) == replies
    desk("runs", "clean", "--older-than", "0d", "--archive")
    assert not desk.records("model_reply")


def timeout_per_stage(desk: Desk) -> None:
    settle(desk, "execution: {timeout_per_stage: 0.001}\n")
    line = desk.check("all", "VER-01.yaml", "-q").line(3)
    run = desk.run_of("VER-01").name
    stage = re.fullmatch(
        rf"run {run} is paused: stage (\S+) reached its limit of 0\.001 s; to continue, run: transom"
        rf" resume {run}",
        line,
    )
    assert stage, line
    assert desk("runs", "show", run, "--format", "json").document["status"] == "paused"
    settle(desk, "execution: {timeout_per_stage: 60}\n")
    assert desk("resume", run, "-q").code == 0


def snippets(desk: Desk) -> str:
    """What the parser saw of the logs the last time."""
    request = [request for request in desk.requests() if request["role"] == "checklist.parser"][-1]
    (text,) = [block["text"] for block in request["blocks"] if block["name"] == "log_snippets"]
    return str(text)


def max_total_read_bytes(desk: Desk) -> None:
    desk.check("all", "VER-01.yaml", "-q")
    before = snippets(desk)
    settle(desk, "tool_constraints: {max_total_read_bytes: 1500}\n")
    desk.check("all", "VER-01.yaml", "-q")
    assert len(snippets(desk)) < 3000 < len(before)


def reaches(
    key: str, value: object, read: Callable[[BuildSettings], object]
) -> Callable[[Desk], None]:
    """A setting that the build is made with; what follows from it is tested beside the build."""

    def check(desk: Desk) -> None:
        section, _, name = key.partition(".")
        parts = name.split(".")
        settle(
            desk, f"{section}: {'{'}{': {'.join(parts)}: {str(value).lower()}{'}' * len(parts)}\n"
        )
        session = Session.start(CommonOptions(), cwd=desk.here, environ={})
        build = manner_of(session, CheckArguments(), needs_sandbox=False).build
        assert read(build) == value != read(BuildSettings())

    return check


def asks_round(tag: str, key: str, value: float) -> Callable[[Desk], None]:
    """A setting that one round of an ItemSpec is asked with, and no other."""

    def check(desk: Desk) -> None:
        settle(desk, f"llm: {{{tag}: {{{key}: {value}}}}}\n")
        session = Session.start(CommonOptions(), cwd=desk.here, environ={})
        asked = manner_of(session, CheckArguments(), needs_sandbox=False).spec
        assert [one for one, settings in asked.items() if getattr(settings, key) == value] == [tag]

    return check


def bounds(key: str, value: float) -> Callable[[Desk], None]:
    """A setting of the window that the calls of a run keep to; what follows from it is tested
    beside the context.
    """

    async def budget(desk: Desk) -> WindowBudget:
        session = Session.start(CommonOptions(), cwd=desk.here, environ={})
        async with (
            session.open_store() as store,
            session.open_run("test", {}, name="x", store=store) as run,
        ):
            return run.budget

    def check(desk: Desk) -> None:
        usual = asyncio.run(budget(desk))
        *sections, name = key.split(".")
        settle(
            desk,
            "".join(f"{section}: {{" for section in sections)
            + f"{name}: {value}"
            + "}" * len(sections),
        )
        assert asyncio.run(budget(desk)) != usual

    return check


def small_window(desk: Desk) -> None:
    bounds("window.tokens", 60_000)(desk)
    settle(desk, "window: {tokens: 2000}")
    line = desk("check", "spec", "VER-01.yaml", "-q").line()
    assert "has room for 800 (stable_prefix " in line, (
        "half of it is the reply's, and a tenth stays free"
    )
    settle(desk, "window: {compact_at: 5, keep_recent: 9}")
    assert (
        "window.keep_recent: is 9; must be at most window.compact_at, 5"
        in desk("check", "spec", "VER-01.yaml", "-q").line()
    )


def own_model(name: str, *roles: str) -> Callable[[Desk], None]:
    """A seat's own model answers its roles alone; that it is asked: tests/cli/test_seats.py."""

    def check(desk: Desk) -> None:
        settle(
            desk, f"llm: {{ollama: {{local: true}}, {name}: {{provider: ollama, model: mine}}}}\n"
        )
        chain = Session.start(CommonOptions(), cwd=desk.here, environ={}).chain()
        assert {role for role in VIEWS if chain.of(role).name == "ollama:mine"} == set(roles)
        assert {chain.of(role).name for role in VIEWS} == {"ollama:mine", "rules"}
        told = Session.start(CommonOptions(model="rules"), cwd=desk.here, environ={}).chain()
        assert {told.of(role).name for role in VIEWS} == {"rules"}, "--model answers every role"

    return check


def level(desk: Desk) -> None:
    settle(desk, "sandbox: {level: L1}\n")
    assert desk.verdict("all", "VER-01.yaml")["sandbox_level"] == "L1"
    assert json.loads(desk.file("build.json").read_text("utf-8"))["sandbox_level"] == "L1"


def logging_level(desk: Desk) -> None:
    assert "info: run" not in desk("check", "spec", "VER-01.yaml").err
    settle(desk, "logging: {level: INFO}\n")
    run = desk.run_of("VER-01")
    said = f"info: run {run.name}: check VER-01 in {run}\n"
    assert said in desk("check", "spec", "VER-01.yaml").err
    assert said not in desk("check", "spec", "VER-01.yaml", "-q").err
    settle(desk, "")
    assert said in desk("check", "spec", "VER-01.yaml", "-v").err


def log_file(desk: Desk) -> None:
    settle(desk, "logging: {level: INFO, log_file: logs/mine.jsonl}\n")
    desk("check", "spec", "VER-01.yaml")
    lines = [
        json.loads(line)
        for line in (desk.here / "logs" / "mine.jsonl").read_text("utf-8").splitlines()
    ]
    assert [line["message"].split(": ")[1] for line in lines][-1] == "READY"


def model(desk: Desk) -> None:
    desk.use_rules()
    settle(desk, "model: wizard\n")
    line = desk("check", "spec", "VER-01.yaml", "-q").line()
    assert line.startswith(
        f"{desk.here}/transom.yaml:1: model: unknown provider 'wizard'; use rules"
    )
    assert desk("check", "spec", "VER-01.yaml", "--model", "rules", "-q").code == 0


def kept_back(desk: Desk) -> None:
    """That a remote provider is sent nothing of it: tests/checklist/test_egress.py; here, that a
    window says so.
    """
    settle(desk, "egress: {logs: local, local_blocks: [section_1]}\n")
    assert desk.check("all", "VER-01.yaml", "-q").code == 0, "rules answers on this machine"
    (request,) = [one for one in desk.requests() if one["role"] == "checklist.parser"]
    local = {block["name"] for block in request["blocks"] if block["egress"] == "local"}
    assert local == {"section_1", "available_files", "log_snippets"}
    assert "logs local, local_blocks section_1\n" in desk("doctor").out


def older(desk: Desk) -> list[str]:
    """Older attempts' files of VER-01's run, by hour."""
    return [path.parent.name for path in desk.run_of("VER-01").glob("hourly/*/*.json")]


def retention_policy(desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-q")
    assert older(desk)
    settle(desk, "cache: {retention_policy: latest}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert older(desk) == []


def max_checkpoints_per_hour(desk: Desk) -> None:
    settle(desk, "cache: {max_checkpoints_per_hour: 2}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert 2 <= len(older(desk)) <= 2 * len(set(older(desk)))
    document = desk("runs", "show", desk.run_of("VER-01").name, "--format", "json").document
    ids = [one["checkpoint_id"] for one in document["checkpoints"]]
    assert [one.rpartition("_")[2] for one in ids] == [str(n) for n in range(1, 9)], (
        "the journal stays"
    )
    shown = desk("runs", "show", desk.run_of("VER-01").name).out
    assert re.search(rf"^  {ids[-1]} .*spec/document", shown, re.M)


def cleanup_on_success(desk: Desk) -> None:
    settle(desk, "cache: {cleanup_on_success: true}\n")
    desk("check", "spec", "VER-01.yaml", "-q")
    assert older(desk) == []


def log_llm_calls(desk: Desk) -> None:
    def calls() -> list[str]:
        path = desk.here / "calls.jsonl"
        path.unlink(missing_ok=True)
        shutil.rmtree(desk.here / ".transom", ignore_errors=True)
        desk("check", "spec", "VER-01.yaml")
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [line["message"] for line in lines if line["logger"] == "transom.runs.observe"]

    settle(desk, "logging: {level: INFO, log_file: calls.jsonl}\n")
    made = calls()
    assert len(made) == 5
    requests = [request["role"] for request in desk.requests()]
    shape = (
        r"call [0-9a-f]{16}: role (\S+) answered by scripted,"
        r" \d+\.\d\d s"
    )
    assert [match[1] for one in made if (match := re.fullmatch(shape, one))] == requests
    digests = {str(record["request"])[:16] for record in desk.records("model_reply")}
    assert {one[5:21] for one in made} == digests, "by which the journal knows them"
    assert desk("check", "spec", "VER-01.yaml").err.count("info: call ") == 0, (
        "what is replayed is no call"
    )
    settle(desk, "logging: {level: DEBUG, log_file: calls.jsonl}\n")
    assert all("--- sent\n<role>\n" in one and "--- came back\n<" in one for one in calls())
    settle(desk, "logging: {level: DEBUG, log_file: calls.jsonl, log_llm_calls: false}\n")
    assert calls() == []


def prompts_dir(desk: Desk) -> None:
    """What comes of it: tests/documents/test_document_000.py."""
    settle(desk, "paths: {prompts_dir: mine}\n")
    assert "paths.prompts_dir" in desk("check", "spec", "VER-01.yaml", "-q").line()
    (desk.here / "mine").mkdir()
    (desk.here / "mine" / "roles.md").write_text("You are brief.\n", "utf-8")
    assert "did you mean role.md?" in desk("check", "spec", "VER-01.yaml", "-q").line()


def parallel_rounds(desk: Desk) -> None:
    """What comes of it: tests/documents/test_document_000.py."""
    settle(desk, "execution: {parallel_rounds: true}\n")
    session = Session.start(CommonOptions(), cwd=desk.here, environ={})
    assert manner_of(session, CheckArguments(), needs_sandbox=False).parallel_rounds


def retry_after(desk: Desk) -> None:
    """What comes of it: tests/cli/test_check_batch.py."""
    settle(desk, "execution: {retry_after: -1}\n")
    assert "execution.retry_after" in desk("check", "batch", "VER-01.yaml").line()


def max_cost(desk: Desk) -> None:
    """What comes of a cap, and of prices: tests/cli/test_max_cost.py."""
    settle(desk, "execution: {max_cost: 5}\npaths: {prices: mine.yaml}\n")
    assert "mine.yaml" in desk("check", "spec", "VER-01.yaml", "-q").line(), "there is none"


def otlp_endpoint(desk: Desk) -> None:
    with LocalServer(lambda wire, _: wire.answer(200, b"{}")) as collector:
        desk("check", "spec", "VER-01.yaml", "-q")
        settle(desk, f"telemetry: {{otlp_endpoint: {collector.url}}}\n")
        desk("check", "spec", "VER-02.yaml", "-q")
        where = destination(collector.url, {})
        assert where
        finish(exporter_to(where))
        names = {span["name"] for span in sent(collector)}
    assert {"chat scripted", "check checklist.analysis", "check checklist.section1"} <= names, names


ROUNDS = ("analysis", "section1", "section2", "section3", "section4")
SEATS = {
    **{name: own_model(name, f"checklist.{name}") for name in ROUNDS},
    "agent_a": own_model("agent_a", "checklist.parser", "checklist.answers"),
    "agent_b": own_model("agent_b", "checklist.logic"),
    "reflect": own_model("reflect", "checklist.repair_a", "checklist.repair_b"),
}
OBEYED: dict[str, Callable[[Desk], None]] = {
    **{
        f"llm.{name}.{key}": check for name, check in SEATS.items() for key in ("provider", "model")
    },
    "logging.log_llm_calls": log_llm_calls,
    "cache.retention_policy": retention_policy,
    "cache.max_checkpoints_per_hour": max_checkpoints_per_hour,
    "cache.cleanup_on_success": cleanup_on_success,
    "egress.logs": kept_back,
    "egress.local_blocks": kept_back,
    "model": model,
    "state_dir": state_dir,
    "store": store,
    "durability": durability,
    "paths.artifacts": artifacts,
    "workspace": workspace,
    "paths.search_root": search_root,
    "paths.item_specs_dir": item_specs_dir,
    "paths.cache_dir": cache_dir,
    "paths.output_dir": output_dir,
    **{f"llm.{name}.temperature": asks_round(name, "temperature", 0.75) for name in ROUNDS},
    **{f"llm.{name}.max_tokens": asks_round(name, "max_tokens", 1234) for name in ROUNDS},
    "llm.agent_a.temperature": reaches(
        "llm.agent_a.temperature", 0.75, lambda build: build.parser.temperature
    ),
    "llm.agent_a.max_tokens": reaches(
        "llm.agent_a.max_tokens", 1234, lambda build: build.parser.max_tokens
    ),
    "llm.agent_b.temperature": reaches(
        "llm.agent_b.temperature", 0.75, lambda build: build.logic.temperature
    ),
    "llm.agent_b.max_tokens": reaches(
        "llm.agent_b.max_tokens", 1234, lambda build: build.logic.max_tokens
    ),
    "execution.timeout_per_stage": timeout_per_stage,
    "execution.max_cost": max_cost,
    "execution.retry_after": retry_after,
    "execution.parallel_rounds": parallel_rounds,
    "paths.prompts_dir": prompts_dir,
    "paths.prices": max_cost,
    "logging.level": logging_level,
    "logging.log_file": log_file,
    "telemetry.otlp_endpoint": otlp_endpoint,
    "llm.reflect.temperature": reaches(
        "llm.reflect.temperature", 0.75, lambda build: build.repair.temperature
    ),
    "llm.reflect.max_tokens": reaches(
        "llm.reflect.max_tokens", 1234, lambda build: build.repair.max_tokens
    ),
    "execution.max_iterations": reaches(
        "execution.max_iterations", 7, lambda build: build.max_iterations
    ),
    "tool_constraints.max_turns": reaches(
        "tool_constraints.max_turns", 4, lambda build: build.max_turns
    ),
    "tool_constraints.max_read_lines_per_call": reaches(
        "tool_constraints.max_read_lines_per_call", 50, lambda build: build.tools.lines_per_call
    ),
    "tool_constraints.require_discovery_before_read": reaches(
        "tool_constraints.require_discovery_before_read",
        False,
        lambda build: build.tools.discovery_first,
    ),
    "tool_constraints.max_total_read_bytes": max_total_read_bytes,
    "tool_constraints.header_lines_default": reaches(
        "tool_constraints.header_lines_default", 2, lambda build: build.limits.header_lines
    ),
    "sandbox.level": level,
    "window.tokens": small_window,
    "window.margin": bounds("window.margin", 0.2),
    **{f"window.shares.{name}": bounds(f"window.shares.{name}", 77_777) for name in SHARES},
}


@pytest.mark.slow
@pytest.mark.parametrize("key", {check: key for key, check in OBEYED.items()}.values())
def test_a_setting_has_its_effect(key: str, desk: Desk) -> None:
    OBEYED[key](desk)


OF_STORIES = {
    *(key for key in known_keys() if key.startswith(("stories.", "handoff.", "agent."))),
    "agents",
}
"""Their effects are tests of `tests/stories`."""
OF_OWN_PROVIDERS = {key for key in known_keys() if key.startswith("llm.retry.")}
"""Their effects are tests of `tests/llm/test_own_provider.py`."""
OF_MEMORY = {"paths.embeddings"}
"""Its effect is a test of `tests/memory`."""
OF_NOTICES = {key for key in known_keys() if key.startswith("notify.")}
"""Their effects are tests of `test_notices.py`."""
OF_PAGES = {"serve.user_header"}
"""Its effect is a test of `tests/server/test_exposure.py`."""


WRITTEN = {
    "llm:\n  agent_a: {provider: azure, model: gpt-x}\n": (
        "transom.yaml:2: llm.agent_a: azure has no address; set llm.openai.base_url, or"
        " AZURE_OPENAI_ENDPOINT, to the address of your resource"
    ),
    "llm:\n  section2:\n    provider: openrouter:some/model\n": (
        "openrouter:some/model: there is no key: OPENROUTER_API_KEY is not set; set it and try again"
    ),
    "llm: {reflect: {provider: wizard}}\n": (
        "transom.yaml:1: llm.reflect: unknown provider 'wizard'; use rules, "
    ),
    "llm:\n  analysis: {model: m}\n": (
        "transom.yaml:2: llm.analysis: model m has no provider; set provider beside it"
    ),
    "# a comment\nmodel: azure:x\n": "transom.yaml:2: model: azure has no address; set llm.openai.",
    "# ours\n# yours\nmodel: rules, azure:x\n": "transom.yaml:3: model: azure has no ",
    "model: azure\n": "transom.yaml:1: model: unknown provider 'azure'; write azure:NAME",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_provider_that_is_unknown_is_named_where_it_was_written(text: str, desk: Desk) -> None:
    desk.use_rules()
    settle(desk, text)
    line = desk("check", "spec", "VER-01.yaml", "-q").line()
    assert line.startswith((f"{desk.here}/{WRITTEN[text]}", WRITTEN[text])), line


def test_an_option_is_named_if_it_was_given(desk: Desk) -> None:
    settle(desk, "model: rules\n")
    line = desk("check", "spec", "VER-01.yaml", "-q", "--model", "azure").line()
    assert line.startswith("--model: unknown provider 'azure'; write azure:NAME")


def test_every_setting_is_obeyed() -> None:
    elsewhere = OF_STORIES | OF_OWN_PROVIDERS | OF_MEMORY | OF_NOTICES | OF_PAGES
    assert set(known_keys()) == set(OBEYED) | set(HOSTED) | set(OF_AGENTS) | elsewhere


def test_credentials_of_an_address_are_never_journaled(desk: Desk) -> None:
    address = "https://ann:canarypass@models.example:8443/v1?api_key=canarykey#canaryend"
    desk("check", "spec", "VER-01.yaml", "--base-url", address, "-q")
    (entry,) = [record["entry"] for record in desk.records("opened")]
    assert entry["base_url"] == "https://models.example:8443/v1"
    for path in (desk.here / ".transom").rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes(), path


@pytest.mark.parametrize(
    "address", ["ann:canarypass@models:1/v1", "http://ann:canarypass@[::1", "http://ann:canarypass"]
)
def test_credentials_of_what_is_no_address_are_not_either(address: str, desk: Desk) -> None:
    assert "defect" not in desk("check", "spec", "VER-01.yaml", "--base-url", address, "-q").err
    (entry,) = [record["entry"] for record in desk.records("opened")]
    assert "canary" not in entry["base_url"]
    for path in (desk.here / ".transom").rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes(), path


def test_an_unknown_setting_names_the_nearest(desk: Desk) -> None:
    settle(desk, "paths:\n  serch_root: data\n")
    line = desk("check", "spec", "VER-01.yaml").line()
    assert re.fullmatch(
        r"\S*transom\.yaml:2: unknown setting paths\.serch_root; did you mean paths\.search_root\?",
        line,
    )


@pytest.mark.slow
def test_the_seeds_file_is_read_too(desk: Desk) -> None:
    (desk.here / "config").mkdir()
    (desk.here / "config" / "agent_config.yaml").write_text(
        "paths:\n  search_root: data\n", "utf-8"
    )
    assert desk("check", "all", "VER-01.yaml", "-q").code == 0


def test_a_level_that_this_machine_has_not_is_one_line(desk: Desk) -> None:
    try:
        Sandbox(level=Level.L3)
    except SandboxUnavailable:
        settle(desk, "sandbox: {level: L3}\n")
        assert "L3" in desk.check("all", "VER-01.yaml", "-q").line()
