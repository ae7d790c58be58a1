"""One item's way: description -> ItemSpec -> checker -> verdict, inside one run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.checklist.build.flow import BuildInputs, BuildSettings, BuiltChecker, build_checker
from transom.checklist.item import Item
from transom.checklist.results import BuildResult, SpecResult, WordsRow
from transom.checklist.run import Inputs, Roots, Verdict, load_checker
from transom.checklist.run.stage import Occasion, judge
from transom.checklist.spec.document import is_marked, parse_spec
from transom.checklist.spec.write import WrittenSpec, write_spec
from transom.errors import InputError, NeedsModel
from transom.llm import CallSettings
from transom.runs import Artifact, Run
from transom.sandbox import Sandbox


@dataclass(frozen=True)
class Places:
    """Where files are looked for, and where copies for a person go.

    Attributes:
        variables: `--var NAME=PATH`.
        search_root: the setting `paths.search_root`, which the usual variables stand for when nobody says.
        root: `--root`: one more folder to look for logs in.
        out: the folder for a person's copies; inside the run where None.
    """

    variables: Mapping[str, Path] = field(default_factory=dict)
    search_root: Path | None = None
    root: Path | None = None
    out: Path | None = None

    def roots(self, base: Path) -> Roots:
        """What variables stand for, for an item in folder `base`."""
        if self.search_root is None:
            return Roots(self.variables, {}, base)
        return Roots.with_defaults(self.variables, self.search_root, base)

    def folders(self, base: Path) -> tuple[Path, ...]:
        """Where logs are looked for: `--root`, the variables' folders, the item's folder; each once."""
        wanted = [*([self.root] if self.root else []), *self.roots(base).folders(), base]
        return tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in wanted if folder.is_dir()))


@dataclass(frozen=True)
class Manner:
    """How a check is made: what the roles are asked with, where code runs, by which day waivers expire."""

    occasion: Occasion
    sandbox: Sandbox
    spec: CallSettings = field(default_factory=CallSettings)
    build: BuildSettings = field(default_factory=BuildSettings)


async def spec_of(run: Run, item: Item, places: Places, manner: Manner) -> WrittenSpec | SpecResult:
    """Write the ItemSpec; a result alone where the rules abstain."""
    try:
        sizes = _sizes(item, places.roots(item.path.absolute().parent))
        return await write_spec(run, item, sizes, folder=places.out, settings=manner.spec)
    except NeedsModel as error:
        return SpecResult(status="NEEDS_MODEL", item_id=item.item_id, needs_model=_words(error), run_id=run.id)


async def checker_of(
    run: Run, spec: Artifact[str] | str, item: Item | None, places: Places, manner: Manner, *, folder: Path | None
) -> BuiltChecker | BuildResult:
    """Build the checker; a result alone where the rules abstain.

    Raises:
        InputError: the ItemSpec lacks a section, a variable is not defined.
    """
    base = item.path.absolute().parent if item else Path.cwd()
    document = parse_spec(spec.value if isinstance(spec, Artifact) else spec)
    inputs = BuildInputs(
        item_id=item.item_id if item else document.item_id,
        description=item.description if item else document.description,
        item_text=item.text if item else None,
        spec=spec,
        files=tuple(own_files(item, places.roots(base))) if item else (),
        roots=places.folders(base),
    )
    try:
        return await build_checker(run, inputs, manner.sandbox, manner.build, folder)
    except NeedsModel as error:
        return BuildResult(status="NEEDS_MODEL", needs_model=_words(error), run_id=run.id)


async def verdict_of(
    run: Run, folder: Path, item: Item | None, places: Places, manner: Manner, *, copy_to: Path | None = None
) -> Verdict:
    """Run a checker on the files of today.

    Raises:
        InputError: the folder is no checker, a variable is not defined.
    """
    checker = load_checker(folder)
    item = item or checker.item
    base = item.path.absolute().parent if item else folder
    inputs = Inputs.of(item, places.roots(base)) if item else Inputs((), places.roots(base))
    return await judge(run, checker, item, inputs, manner.sandbox, manner.occasion, folder=copy_to)


async def check_all(run: Run, item: Item, places: Places, manner: Manner) -> SpecResult | BuildResult | Verdict:
    """Spec, build and run in one go; where one of them stops, its own answer."""
    spec = await spec_of(run, item, places, manner)
    if isinstance(spec, SpecResult):
        return spec
    if not spec.ready:
        return spec.result
    target = places.out / checker_folder(item.item_id) if places.out else None
    built = await checker_of(run, spec.document, item, places, manner, folder=target)
    if isinstance(built, BuildResult):
        return built
    if not built.done:
        return built.result
    return await verdict_of(run, built.folder, item, places, manner, copy_to=places.out)


def checker_folder(item_id: str) -> str:
    """The name of a checker's folder."""
    return f"{item_id}_checker"


def refuse_unready(text: str, path: Path) -> None:
    """An ItemSpec with findings is not built from unless a person says so.

    Raises:
        InputError: it opens with the comment that lists its findings.
    """
    if is_marked(text):
        raise InputError(
            "the ItemSpec has findings that nobody mended",
            where=str(path),
            hint="mend them, or add --allow-needs-review",
        )


def own_files(item: Item, roots: Roots) -> Sequence[Path]:
    """The item's input files that exist, compressed ones included.

    Raises:
        InputError: a variable is not defined.
    """
    found = [_existing(roots.expand(name.written, item.where(name.line))) for name in item.input_files]
    return [Path(os.path.realpath(path)) for path in found if path]


def _existing(path: Path) -> Path | None:
    return next((candidate for candidate in (path, Path(f"{path}.gz")) if candidate.is_file()), None)


def _sizes(item: Item, roots: Roots) -> dict[str, int]:
    """Bytes of the input files that can be found; an ItemSpec can be written before there is any."""
    sizes: dict[str, int] = {}
    for name in item.input_files:
        try:
            path = _existing(roots.expand(name.written, item.where(name.line)))
        except InputError:
            continue
        if path:
            sizes[name.written] = path.stat().st_size
    return sizes


def _words(error: NeedsModel) -> tuple[WordsRow, ...]:
    return tuple(WordsRow(text=words.text, where=words.where) for words in error.words)
