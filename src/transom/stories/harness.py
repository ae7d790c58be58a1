"""The harness of a project's tests: every file that decides how they are run and what is reported.

The harness of the baseline decides. A story must name such a file to change it, and even then the
tests run with the file of before, unless its new contents only add what tests may use.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from transom.formats.test_files import is_test_file

PROTECTED = (
    ".git*",
    ".github/**",
    ".gitlab-ci*",
    ".ci/**",
    "Jenkinsfile",
    "**/conftest.py",
    "**/pytest.ini",
    "**/.pytest.ini",
    "**/pytest.toml",
    "tox.ini",
    "noxfile.py",
    "setup.cfg",
    ".coveragerc",
    "run_tests*",
    "jest.config.*",
    "vitest.config.*",
    ".mocharc*",
    "babel.config.*",
    ".npmrc",
    ".cargo/**",
    ".transom*",
    ".transom/**",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "**/*.pth",
    "**/*.egg-info/**",
    "**/*.dist-info/**",
)
"""Files that control test runs and git, whatever the test command is."""

_TEST_SETTINGS = {
    "pyproject.toml": ("pytest", "tox", "nox", "hatch", "coverage"),
    "package.json": ("test", "pretest", "posttest", "jest", "vitest", "mocha", "ava", "type"),
    "Cargo.toml": ("profile", "test", "lib"),
}
"""File -> its keys that control test runs; any story may change the rest of the file."""

_READ_BY_PROGRAM = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "ctest": ("CTestTestfile.cmake",),
}
"""Program -> the files that it runs without being told."""

_SCRIPTS = (".sh", ".bash", ".mk")
_WORD = re.compile(r"[\w@.+-]+(?:/[\w@.+-]+)*")
_HOOK = re.compile(r"pytest_\w+$")


def is_test_settings(path: str) -> bool:
    """Whether a file has settings of test runs beside others."""
    return PurePosixPath(path).name in _TEST_SETTINGS


def test_settings(path: str, text: str) -> object:
    """Return the test settings of a file; the whole text if it cannot be parsed."""
    name = PurePosixPath(path).name
    try:
        # npm keeps commands in `scripts` and settings of runners beside it.
        if name == "package.json":
            data = json.loads(text or "{}")
            rows = {**data, **data.get("scripts", {})}
        else:
            data = tomllib.loads(text)
            rows = {**data, **data.get("tool", {})}
        return {key: value for key, value in rows.items() if key in _TEST_SETTINGS[name]}
    # A file that nobody can read must not hide a change of its settings.
    except (ValueError, AttributeError, RecursionError, TypeError):
        return text


def named_files(argv: Sequence[str], tracked: Collection[str]) -> frozenset[str]:
    """Return the files of the project that the test command names, or runs without a name.

    Args:
        argv: the command; `{project}/x` and `{worktree}/x` mean `x`.
        tracked: the paths of the baseline.
    """
    words: list[str] = []
    candidates: list[str] = []
    for argument in argv:
        words.append(re.sub(r"^\{\w+\}/", "", argument))
        for part in _WORD.findall(words[-1]):
            candidates.append(PurePosixPath(part).as_posix())
    program = PurePosixPath(words[0]).name if words else ""
    candidates += _READ_BY_PROGRAM.get(program, ())
    # `python -m x` runs a module of the worktree before one that is installed.
    if "-m" in words[:-1]:
        module = words[words.index("-m") + 1].replace(".", "/")
        for folder in ("", "src/"):
            names = (f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
            candidates += [f"{folder}{name}" for name in names]
    files = set()
    for path in candidates:
        # A word may name a test file to run; that is no part of the harness.
        if path in tracked and not is_test_file(PurePosixPath(path).name):
            files.add(path)
    return frozenset(files)


def scripts_named_in(text: str, tracked: Collection[str]) -> frozenset[str]:
    """Return the scripts of the project that a script or makefile names."""
    scripts = set()
    for word in _WORD.findall(text):
        path = PurePosixPath(word).as_posix()
        if path.endswith(_SCRIPTS) and path in tracked:
            scripts.add(path)
    return frozenset(scripts)


def hides_a_module(path: str, importable: Collection[str]) -> str:
    """Return the module that a new file would hide from the tests' interpreter, or "".

    The worktree and its `src` come first on the path, and pytest adds the folder of each test file.
    """
    parts = PurePosixPath(path).parts
    folders = parts[1:] if parts[0] in ("src", "test", "tests") else parts
    if not folders or not path.endswith((".py", ".so", ".pyc")):
        return ""
    name = folders[0].partition(".")[0]
    return name if name in importable else ""


def importable_modules(readable: Iterable[Path]) -> frozenset[str]:
    """Return the names of the modules that the tests' interpreter has: the standard library's and
    those of the environments that the tests may read.
    """
    names = set(sys.stdlib_module_names)
    for folder in readable:
        # A package that the tests import could be hidden by a file of the same name.
        for packages in folder.glob("lib/python3*/site-packages"):
            names |= {entry.name.partition(".")[0] for entry in packages.iterdir()}
    return frozenset(name for name in names if name.isidentifier() and name not in ("test", "src"))


def additions_to_conftest(old: str | None, new: str) -> list[str]:
    """Return what a new conftest.py changes of how tests are run. Plain fixtures are no finding."""
    try:
        before = {} if old is None else dict(_parts(ast.parse(old)))
        after = dict(_parts(ast.parse(new)))
    except (SyntaxError, ValueError, RecursionError):
        return ["cannot be read"]
    findings = [f"no longer has {name}" for name in before if name not in after]
    for name, node in after.items():
        # Compared without places and comments: moved code changes nothing.
        if before.get(name) is not None and ast.dump(before[name]) == ast.dump(node):
            continue
        findings += _influences(name, node)
    return findings


def _parts(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for number, node in enumerate(tree.body):
        name = getattr(node, "name", None) or ast.unparse(node)[:80] or str(number)
        yield name, node


def _influences(name: str, node: ast.stmt) -> Iterator[str]:
    """Yield how a statement of a conftest influences tests that do not ask for it."""
    if _HOOK.match(name):
        yield f"defines the hook {name}"
    for inner in ast.walk(node):
        if isinstance(inner, ast.keyword) and inner.arg == "autouse":
            yield f"{name} acts on every test"
        if isinstance(inner, ast.Assign | ast.AugAssign | ast.AnnAssign):
            # `module.function = ...` patches what tests use without asking for a fixture.
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            if any(isinstance(target, ast.Attribute) for target in targets) and not isinstance(
                node, ast.ClassDef
            ):
                yield f"{name} sets an attribute of another object"
        if isinstance(inner, ast.Assign) and ast.unparse(inner).startswith("pytest_plugins"):
            yield "loads a plug-in"
        if isinstance(inner, ast.Call) and ast.unparse(inner.func) in ("setattr", "exec", "eval"):
            yield f"{name} calls {ast.unparse(inner.func)}"
        if isinstance(inner, ast.Import | ast.ImportFrom):
            modules = [inner.module or ""] if isinstance(inner, ast.ImportFrom) else []
            modules += [alias.name for alias in inner.names]
            if any(module.partition(".")[0] in ("_pytest", "pluggy") for module in modules):
                yield "imports the runner's inside"


def runner_words(added: str) -> list[str]:
    """Return the words with which added product code speaks of the test runner.

    Code that knows whether it is tested can behave otherwise then.
    """
    pattern = re.compile(
        r"\b(?:_?pytest|PYTEST_\w+|junit\w*|pluggy|unittest\.(?!mock)\w+|node:test|NODE_TEST\w*"
        r"|JEST_\w+|VITEST\w*|jest|vitest)\b|\bimport unittest\b(?!\.mock)|[\"']unittest[\"']"
        r"|\bNODE_ENV\b[^\n]{0,20}[=!]==? ?[\"'`]test"
        r"|[\"'`]test[\"'`] ?[=!]==? ?[^\n]{0,20}\bNODE_ENV\b|\bexecArgv\b"
        r"|\btesting\.Testing\(|\"test\.\w{1,20}\"|\"\.test(?:\.exe)?\"|^[ \t]*+\"testing\"$"
        r"|\bcfg(?:_attr)?!?\([^)\n]{0,200}\b(?:test|debug_assertions)\b",
        re.MULTILINE,
    )
    return list(dict.fromkeys(pattern.findall(added)))


# Ways to see a test among the callers, in the languages that are run here.
_FRAMES = re.compile(
    r"\b(?:inspect\.(?:stack|currentframe|getouterframes|getinnerframes|trace)"
    r"|sys\._(?:getframe\w*|current_frames)|traceback\.(?:extract_stack|walk_stack|format_stack)"
    r"|gc\.get_(?:objects|referrers|referents)|captureStackTrace|runtime\.Callers?)\b"
)


def looks_at_callers(added: str) -> str:
    """Return the words with which added product code looks at its callers, or "".

    Code that knows who calls it can behave otherwise in a test.
    """
    match = _FRAMES.search(added)
    return match[0] if match else ""


def always_equal(text: str) -> str:
    """Return the class of a Python file whose objects are equal to everything, or ""."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__eq__":
                returned = [inner for inner in ast.walk(method) if isinstance(inner, ast.Return)]
                if all(
                    isinstance(inner.value, ast.Constant) and inner.value.value is True
                    for inner in returned
                ):
                    return node.name
    return ""
