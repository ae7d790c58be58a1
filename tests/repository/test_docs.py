"""The README's and the pages' code blocks are run; a page that is drawn from the code is up to
date.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts import draw_architecture, draw_pictures, draw_reference, draw_settings

import transom
from tests.repository.tracked import ROOT
from transom.config import known_keys

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# The page on stories has `bash` and `yaml`; a test of that product runs and reads them.
RUN_OR_READ = {"bash", "console", "mermaid", "python", "sh", "text", "yaml"}
MARK = "@@end-of-command"
STEP = """{{ {command}
}} 2>.said
rc=$?; [ $rc != 2 ] || cat .said; printf '\\n{mark} %d\\n' $rc; (exit $rc)
"""
"""Progress (standard error) is not shown in pages; what is said of an error (exit code 2) is."""


@dataclass(frozen=True)
class Fenced:
    """A fenced block of a page; `line` is where its first line stands."""

    page: Path
    line: int
    lang: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Step:
    """A command of a console block, and what it is to print."""

    command: str
    output: str


def fenced_blocks() -> Iterator[Fenced]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
            yield Fenced(page, text.count("\n", 0, match.start()) + 2, match[1], match[2])


BLOCKS = list(fenced_blocks())


def of(*langs: str) -> list[Fenced]:
    return [block for block in BLOCKS if block.lang in langs]


OFFLINE = [block for block in of("sh") if "--no-index" in block.body]
"""How to install where there is no network; `test_wheelhouse` runs it."""


def steps(body: str) -> list[Step]:
    """The commands (`$ ...`, continued by a backslash) and the lines below each."""
    assert body.startswith("$ "), "a console block begins with a command"
    found = []
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        match = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.S)
        assert match
        found.append(Step(match[1], match[2].rstrip("\n")))
    return found


def agrees(expected: str, printed: str) -> bool:
    """Whether the output is as shown; `...` stands for any text, also for whole lines."""
    pattern = ".*?".join(re.escape(piece) for piece in expected.split("..."))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.S) is not None


def run_console(block: Fenced, folder: Path) -> None:
    """Run a block in one shell, in a folder that holds the examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    asked = steps(block.body)
    script = "".join(STEP.format(command=step.command, mark=MARK) for step in asked)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{script}"],
        cwd=folder,
        env={**os.environ, "PATH": path, "HOME": str(folder), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    ends = re.split(rf"\n{MARK} (\d+)\n", done.stdout)
    for number, step in enumerate(asked):
        printed, code = ends[2 * number], int(ends[2 * number + 1])
        assert agrees(step.output, printed), (
            f"{block}: $ {step.command}\nshown:\n{step.output}\nprinted:\n{printed}"
        )
        told = number + 1 < len(asked) and asked[number + 1].command == "echo $?"
        assert code == 0 or told, (
            f"{block}: $ {step.command}\nends with {code}, which the page does not tell"
        )


@pytest.mark.slow
def test_the_picture_of_the_readme_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert draw_pictures.main(["--check"]) == 0, capsys.readouterr().out


def test_a_picture_keeps_colours_and_escapes_what_svg_would_read() -> None:
    picture = draw_pictures.draw("\x1b[31mFAIL\x1b[0m  a < b & c")
    assert '<tspan class="red">FAIL</tspan>  a &lt; b &amp; c</text>' in picture


@pytest.mark.slow
@pytest.mark.parametrize("block", of("console"), ids=str)
def test_a_console_block_prints_what_the_page_shows(block: Fenced, tmp_path: Path) -> None:
    run_console(block, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", of("python"), ids=str)
def test_a_python_block_runs(block: Fenced, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block.body],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_a_recipe_is_short() -> None:
    recipes = [block for block in of("python") if block.page.name == "cookbook.md"]
    assert len(recipes) >= 12
    assert [str(block) for block in recipes if block.body.count("\n") > 30] == []


def test_every_block_says_what_it_is() -> None:
    assert [str(block) for block in BLOCKS if block.lang not in RUN_OR_READ] == []


def test_the_readme_shows_a_session_that_runs() -> None:
    assert [block.page.name for block in of("console")].count("README.md") == 1


@pytest.mark.parametrize("block", [block for block in of("sh") if block not in OFFLINE], ids=str)
def test_a_shell_block_names_targets_that_exist(block: Fenced) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in block.body.splitlines():
        match = re.fullmatch(r"make ([a-z]+)", line)
        assert match, f"{block}: only `make TARGET` stands in a sh block"
        assert re.search(rf"^{match[1]}:", makefile, re.M), f"{block}: no target {match[1]}"


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_a_page_has_one_title_in_navigation_heading_and_index() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    titles = re.findall(r'^ +- "?([^"\n]+?)"?: ([\w-]+\.md)$', navigation, re.M)
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert sorted(name for _, name in titles) == pages
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for title, name in titles:
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert re.findall(r"^# .*", page, re.M)[0] == f"# {title}", name
        assert name == "index.md" or f"[{title}]({name})" in index, name


def architecture_pages() -> str:
    """The text of all pages on the architecture."""
    return "".join(page.read_text(encoding="utf-8") for page in draw_architecture.PAGES)


def test_the_architecture_pages_are_drawn_from_the_current_code() -> None:
    for path in draw_architecture.PAGES:
        page = path.read_text(encoding="utf-8")
        assert page == draw_architecture.drawn(page), f"{path.name}: run `make generated`"
    text = architecture_pages()
    missing = []
    for name in draw_architecture.DRAWINGS:
        if f"<!-- drawn: {name} -->" not in text:
            missing.append(name)
    assert missing == []


def test_a_page_that_lags_behind_the_contracts_is_noticed() -> None:
    page = draw_architecture.PAGES[0].read_text(encoding="utf-8")
    lagging = page.replace("cli | testing", "testing | cli")
    assert lagging != page
    assert draw_architecture.drawn(lagging) == page


def test_the_architecture_pages_name_every_stage_of_the_checklist() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/transom/checklist").rglob("*.py")
    )
    stages = set(re.findall(r'run\.stage\(\s*"([^"]+)"', sources))
    assert stages
    text = architecture_pages()
    assert {stage for stage in stages if f"`{stage}`" not in text} == set()


def test_the_pages_for_contributors_name_files_that_exist() -> None:
    text = architecture_pages() + (ROOT / "docs/where-to-change.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(src/transom/[\w/]+\.\w+|scripts/\w+\.py)`", text))
    assert len(named) > 5
    assert {name for name in named if "NAME" not in name and not (ROOT / name).is_file()} == set()


def test_the_map_is_short_and_has_every_room() -> None:
    page = draw_architecture.PAGES[0].read_text(encoding="utf-8")
    assert len(page.split()) <= 1_200
    rooms = {draw_architecture.room_name(path) for path in draw_architecture.rooms()}
    assert {room for room in rooms if f"| `{room}` |" not in page} == set()


def test_the_page_of_settings_has_every_key_as_it_is_today() -> None:
    page = draw_settings.PAGE.read_text(encoding="utf-8")
    assert page == draw_settings.page(), "run: python -m scripts.draw_settings"
    headings = " ".join(line for line in page.splitlines() if line.startswith("## "))
    for key in known_keys():
        section, _, name = key.rpartition(".")
        shared = f"`{section}`" in headings and f"| `{name}` |" in page
        assert f"| `{key}` |" in page or shared, key


def test_the_reference_has_every_public_name_as_it_is_today() -> None:
    page = draw_reference.PAGE.read_text(encoding="utf-8")
    assert page == draw_reference.page(), "run: python -m scripts.draw_reference"
    for name in transom.__all__:
        assert name == "__version__" or f"\n## {name}\n" in page


def test_the_changelog_knows_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a ... c", "a b c\n", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a", "a b", False),
        ("run ...", "ran 7", False),
        ("(1 + 1)", "(1 + 1)", True),
    ],
)
def test_an_ellipsis_stands_for_what_varies(expected: str, printed: str, same: bool) -> None:
    assert agrees(expected, printed) is same


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("$ echo hello\nhello\n$ false\n$ echo $?\n1\n", None),
        ("$ echo hello\ngoodbye\n", r"printed:\s+hello"),
        ("$ false\n", "ends with 1"),
        ("$ (echo bad >&2; exit 2)\nbad\n$ echo $?\n2\n$ echo working >&2\n", None),
        ("$ ls examples/checks | grep -c README\n1\n$ X=1; \\\n  echo $X\n1\n", None),
    ],
)
def test_a_console_block_that_lies_is_noticed(body: str, wrong: str | None, tmp_path: Path) -> None:
    block = Fenced(ROOT / "README.md", 1, "console", body)
    if wrong is None:
        run_console(block, tmp_path)
        return
    with pytest.raises(AssertionError, match=wrong):
        run_console(block, tmp_path)
