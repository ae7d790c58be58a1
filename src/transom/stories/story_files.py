"""The files that a story changed, as texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transom.formats.declared_values import declared_names
from transom.formats.source_functions import changed_functions, without_rust_tests
from transom.stories.own_text import program_text


@dataclass(frozen=True)
class StoryFiles:
    """The files that a story changed, as texts.

    Attributes:
        code: path -> (text before, text after) of files that are no tests; None for no file.
        tests: path -> text of the changed test files.
        other_tests: a test file of the project, for canaries where the story has none.
        unheld: quoted texts and numbers of the criteria that no file of the story's commit holds.
    """

    code: Mapping[str, tuple[str | None, str | None]]
    tests: Mapping[str, str]
    other_tests: Mapping[str, str]
    unheld: frozenset[str] = frozenset()

    @property
    def before(self) -> dict[str, str | None]:
        """The code as it was before the story."""
        return {path: texts[0] for path, texts in self.code.items()}

    @property
    def code_now(self) -> str:
        """The code of the story, without its tests and comments."""
        texts = []
        for path, (_, new) in self.code.items():
            texts.append(program_text(path, without_rust_tests(path, new or "")))
        return "\n".join(texts)

    @property
    def checks(self) -> dict[str, str]:
        """The changed test files without comments."""
        return {path: program_text(path, text) for path, text in self.tests.items()}

    @property
    def functions(self) -> frozenset[str]:
        """The names of the changed functions, without those of their classes."""
        names = set[str]()
        for path, (old, new) in self.code.items():
            for function in changed_functions(path, old, new) if new is not None else ():
                names.add(function.name.rpartition(".")[2])
        return frozenset(names)

    @property
    def declared(self) -> set[str]:
        """The names that the story gives to values outside of functions."""
        names = set[str]()
        for path, (old, new) in self.code.items():
            if new is not None:
                names |= declared_names(path, old, new)
        return names
