"""`check knowledge`: what the embedded default understands, and whether a domain's file is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from transom.checklist.rules import Knowledge, load_knowledge
from transom.checklist.rules.plan import item_name
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import problems_of
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_models import nearest_key


def list_command(session: Session) -> int:
    """`check knowledge list`: each domain with the items that it has."""
    knowledge = _knowledge(session)
    rows = [_row(domain, knowledge) for domain in knowledge.domains]
    lines = [f"{row['domain']:<22} {row['question']}: {row['items']}" for row in rows]
    return session.report({"schema": "transom.knowledge-list/1", "domains": rows}, *lines)


def show_command(session: Session, name: str) -> int:
    """`check knowledge show NAME`: what a domain can be told, what it reads, and how it judges."""
    knowledge = _knowledge(session)
    domain = _domain(knowledge, name)
    return session.report(domain.model_dump(mode="json", by_alias=True), *_shown(domain, knowledge))


def lint_command(session: Session, files: Sequence[Path]) -> int:
    """`check knowledge lint FILE...`: as if they lay in a folder of the settings; what is wrong is an error."""
    knowledge = _knowledge(session, files)
    named = [_of_file(knowledge, file) for file in files]
    languages = [one for one in knowledge.languages if one.domain in named]
    found = [f"{knowledge.files[one.domain.domain]}: {error}" for one in languages if (error := one.problem)]
    items = [(one, item) for one in named for item in one.items if not item.examples]
    found += [f"{knowledge.files[one.domain]}: {item.key}: no example" for one, item in items]
    return session.report({"findings": found}, *(found or ["nothing found"]), code=1 if found else 0)


def trial_command(session: Session, names: Sequence[str]) -> int:
    """`check knowledge test NAME|FILE...`: the examples of domains, which are their tests; of all without a name."""
    files = {name: Path(name) for name in names if name.endswith((".yaml", ".yml"))}
    knowledge = _knowledge(session, files.values())
    chosen = [_of_file(knowledge, files[one]) if one in files else _domain(knowledge, one) for one in names]
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
    domain = knowledge.domain(name)
    if domain is None:
        known = [one.domain for one in knowledge.domains]
        near = nearest_key(name, known)
        hint = f"did you mean {near}?" if near else f"there is {', '.join(known)}"
        raise InputError(f"there is no domain {name}", hint=hint)
    return domain


def _of_file(knowledge: Knowledge, file: Path) -> Domain:
    found = (one for one in knowledge.domains if knowledge.files[one.domain] == file.name)
    return next(found, None) or _domain(knowledge, file.stem)


def _row(domain: Domain, knowledge: Knowledge) -> dict[str, object]:
    items = ", ".join(dict.fromkeys(item_name(item, {}) for item in domain.items))
    file = knowledge.files[domain.domain]
    return {"domain": domain.domain, "title": domain.title, "question": domain.question, "items": items, "file": file}


def _shown(domain: Domain, knowledge: Knowledge) -> Iterator[str]:
    yield f"{domain.title} ({domain.domain}, {knowledge.files[domain.domain]}): {domain.question}"
    forms = (one.means for one in domain.forms if one.kind == "claim")
    means = dict.fromkeys([*(claim.means for claim in domain.claims), *forms])
    yield from ("", "what may be asked:", *(f"  - {one}" for one in means))
    if domain.entities:
        yield from ("", "named as:", *(f"  - {entity.name}: {'; '.join(entity.words)}" for entity in domain.entities))
    yield from ("", "items (for `reads_as`):")
    for item in domain.items:
        patterns = "; compared with requirements.pattern_items" if item.compares else ""
        yield f"  - {item.key}: {item_name(item, {})}; {item.purpose}{patterns}"
    yield from ("", "files:", *(f"  - {one.kind}: {', '.join(one.files)}; {one.about}" for one in domain.sources))
