"""`check knowledge`: what the embedded default understands, and whether a domain's file is right."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.rules import Knowledge, load_knowledge
from transom.checklist.rules.plan import item_name
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import problems_of
from transom.cli.command import command
from transom.cli.options import check_app
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml
from transom.formats.yaml_models import nearest_key

knowledge_app = group("knowledge", "What the embedded default understands, and domains of your own.", check_app)

_SHOWN: dict[str, Any] = {
    **dict.fromkeys(("domain", "title", "question"), True),
    "claims": {"__all__": {"means"}},
    "items": {"__all__": {"key", "name", "purpose"}},
    "sources": {"__all__": {"kind", "files", "about"}},
}
"""What a person is shown of a domain."""


@command(knowledge_app, "list", example="transom check knowledge list")
def list_domains(session: Session) -> int:
    """List the domains: what each answers, and its items."""
    knowledge = _knowledge(session)
    rows = [_row(domain, knowledge) for domain in knowledge.domains]
    lines = [f"{row['domain']:<22} {row['question']}: {row['items']}" for row in rows]
    return session.report({"schema": "transom.knowledge-list/1", "domains": rows}, *lines)


@command(knowledge_app, "show", example="transom check knowledge show timing")
def show(
    session: Session, domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="Its name, as `list` has it.")]
) -> int:
    """Show what a domain can be asked, its items, and what it reads."""
    knowledge = _knowledge(session)
    found = _domain(knowledge, domain)
    lines = dump_yaml(found.model_dump(mode="json", by_alias=True, include=_SHOWN)).rstrip("\n").split("\n")
    return session.report(found.model_dump(mode="json", by_alias=True), *lines)


@command(knowledge_app, "lint", example="transom check knowledge lint site/erc.yaml")
def lint(
    session: Session, files: Annotated[list[Path], typer.Argument(metavar="FILE.yaml", help="Files of domains.")]
) -> int:
    """Look a domain's file over: keys, word lists, regexes, names."""
    knowledge = _knowledge(session, files)
    named = [_domain(knowledge, str(file)) for file in files]
    languages = [one for one in knowledge.languages if one.domain in named]
    found = [f"{knowledge.files[one.domain.domain]}: {error}" for one in languages if (error := one.problem)]
    items = [(one, item) for one in named for item in one.items if not item.examples]
    found += [f"{knowledge.files[one.domain]}: {item.key}: no example" for one, item in items]
    return session.report({"findings": found}, *(found or ["nothing found"]), code=1 if found else 0)


@command(knowledge_app, "test", example="transom check knowledge test physical_verification")
def trial(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="DOMAIN|FILE.yaml", help="Domains; all without one.")
    ] = None,
) -> int:
    """Try the examples in a domain's file, which are its tests."""
    knowledge = _knowledge(session, [Path(one) for one in names or () if one.endswith((".yaml", ".yml"))])
    chosen = [_domain(knowledge, one) for one in names or ()]
    found = {domain.domain: problems_of(domain) for domain in chosen or knowledge.domains}
    tried = sum(len(item.examples) for domain in chosen or knowledge.domains for item in domain.items)
    wrong = [f"{name}: {problem}" for name, problems in found.items() for problem in problems]
    lines = (*wrong, f"{tried} examples, {len(wrong)} not as they say")
    return session.report({"tried": tried, "problems": found}, *lines, code=1 if wrong else 0)


def _knowledge(session: Session, files: Iterable[Path] = ()) -> Knowledge:
    """The shipped domains, those of the settings, and those in the folders of some files."""
    folders = dict.fromkeys(file.parent.absolute() for file in files)
    return load_knowledge([*session.settings.paths.knowledge_dirs, *folders])


def _domain(knowledge: Knowledge, name: str) -> Domain:
    """A domain by its name, or by a file that is it."""
    named = Path(name).name if name.endswith((".yaml", ".yml")) else ""
    found = (one for one in knowledge.domains if knowledge.files[one.domain] == named)
    domain = next(found, None) or knowledge.domain(Path(name).stem if named else name)
    if domain is None:
        known = [one.domain for one in knowledge.domains]
        near = nearest_key(name, known)
        hint = f"did you mean {near}?" if near else f"there is {', '.join(known)}"
        raise InputError(f"there is no domain {name}", hint=hint)
    return domain


def _row(domain: Domain, knowledge: Knowledge) -> dict[str, object]:
    items = ", ".join(dict.fromkeys(item_name(item, {}) for item in domain.items))
    file = knowledge.files[domain.domain]
    return {"domain": domain.domain, "title": domain.title, "question": domain.question, "items": items, "file": file}
