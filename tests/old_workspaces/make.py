"""Make the archives of this folder: workspaces as one version of Transom leaves them.

    python tests/old_workspaces/make.py CHECKOUT VERSION [CASE...]

CHECKOUT is a checkout of that version with its environment in `.venv`. The archives go to
`tests/old_workspaces/VERSION/`. Each case begins in the empty folder `HOME`; runs are interrupted
with SIGKILL. Needs git, and bubblewrap for the stories.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = Path("/var/tmp/transom-user")
"""Where every case is made: recorded paths begin with it, and tests put their own in its place."""

STORY_SETTINGS = """stories:
  workers: {sm: replay, po: replay, dev: replay, qa: replay}
  replay: replies
  tests: ['{python}', run_tests.py, '{junit}']
  environment: [PYTHONDONTWRITEBYTECODE=1]
"""
STUDY_TRIALS = 12
CONVERSATION = """
import asyncio, os, signal
from transom import Agent, Home, Role
from transom.testing import ScriptedProvider, asks

CLERK = Role("shop.clerk", "You know the stock.")

def count(item: str) -> str:
    "Count what is in stock of an item."
    return f"{item}: 7 left"

def killed(request):
    os.kill(os.getpid(), signal.SIGKILL)

async def program():
    script = [asks("count", item="bolts"), "There are 7 bolts left.", killed]
    provider = ScriptedProvider({"shop.clerk": script})
    home = Home(".transom", "monday")
    async with Agent(CLERK, provider=provider, tools=[count], at=home) as agent:
        await agent.send("How many bolts are there?", id="bolts")
        await agent.send("And nuts?", id="nuts")

asyncio.run(program())
"""
QUESTION = """
import asyncio
from transom import Agent, Role
from transom.errors import Paused
from transom.llm import Chain
from transom.runs import Run, Workspace, text_file
from transom.testing import ScriptedProvider

CLERK = Role("shop.clerk", "You know the stock.")

async def look(stage):
    async with Agent(CLERK, at=stage) as agent:
        return (await agent.send("How many bolts?")).text

async def program():
    workspace = Workspace.at(".transom")
    chain = Chain([ScriptedProvider({"shop.clerk": ["Seven."]})])
    async with workspace.open_store() as store:
        opened = Run.open(
            "order", {}, name="bolts", workspace=workspace, store=store, chain=chain
        )
        async with await opened as run:
            stock = await run.stage("stock", look, out=text_file("stock.txt"), uses=[CLERK])
            await run.ask("order", f"{stock.value} Order more?", options=["yes", "no"])

try:
    asyncio.run(program())
except Paused:
    pass
"""


@dataclass(frozen=True)
class OldVersion:
    """The version of Transom that makes the workspaces."""

    checkout: Path

    @property
    def examples(self) -> Path:
        return self.checkout / "examples"

    def run(self, *arguments: str, expect: int = 0, **variables: str) -> None:
        """Run `transom` in HOME; `expect` is its exit code, -9 if it is to be killed."""
        command = [str(self.checkout / ".venv" / "bin" / "transom"), *arguments]
        self._check(command, subprocess.run(command, cwd=HOME, env=environment(variables)), expect)

    def run_program(self, text: str, expect: int = 0) -> None:
        """Run a Python program that imports Transom, in HOME."""
        command = [str(self.checkout / ".venv" / "bin" / "python"), "-c", text]
        self._check(["program"], subprocess.run(command, cwd=HOME, env=environment({})), expect)

    def kill_after(self, progress: str, *arguments: str) -> None:
        """Run `transom` in HOME and kill it once its progress contains a text."""
        command = [str(self.checkout / ".venv" / "bin" / "transom"), *arguments]
        process = subprocess.Popen(
            command, cwd=HOME, env=environment({}), stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        for line in process.stderr:
            if progress in line:
                process.kill()
                break
        if process.wait() != -signal.SIGKILL:
            sys.exit(f"{' '.join(command)}: ended before it could be killed")

    @staticmethod
    def _check(command: list[str], done: subprocess.CompletedProcess[bytes], expect: int) -> None:
        if done.returncode != expect:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}, expected {expect}")


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Return an environment without settings of whoever makes the archives."""
    names = ("PATH", "LANG", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    author = {"GIT_AUTHOR_NAME": "Kit Moss", "GIT_AUTHOR_EMAIL": "kit@example.org"}
    committer = {key.replace("AUTHOR", "COMMITTER"): value for key, value in author.items()}
    return {**kept, **author, **committer, "HOME": "/nonexistent", **variables}


def make_demo(old: OldVersion) -> None:
    """Run the demo on a few of its examples; what stays is its workspace."""
    ignored = shutil.ignore_patterns("__pycache__", "make*", "expected", "README.md")
    for name in ("stories", "studies", "learning"):
        shutil.copytree(old.examples / name, HOME / "examples" / name, ignore=ignored)
    shutil.copytree(old.examples / "checks" / "data", HOME / "examples" / "checks" / "data")
    item = Path("examples", "checks", "VER-02.yaml")
    shutil.copy(old.checkout / item, HOME / item)
    feature = Path("examples", "incoming_data", "feature2")
    shutil.copytree(old.checkout / feature, HOME / feature)
    old.run("demo", "-q")
    shutil.rmtree(HOME / "examples")


def make_check(old: OldVersion) -> None:
    """Interrupt a check after its parser was written, before the gates."""
    shutil.copytree(old.examples / "checks" / "data", HOME / "data")
    shutil.copy(old.examples / "checks" / "VER-02.yaml", HOME / "VER-02.yaml")
    variables = ["--var", "CHECKLIST_ROOT=data"]
    old.run("check", "all", "VER-02.yaml", *variables, TRANSOM_FAILPOINT="append:50", expect=-9)


def make_batch(old: OldVersion) -> None:
    """Interrupt the process that checks the only item of a batch; the batch reports that."""
    shutil.copytree(old.examples / "checks" / "data", HOME / "data")
    shutil.copy(old.examples / "checks" / "VER-02.yaml", HOME / "VER-02.yaml")
    words = ["check", "batch", "VER-02.yaml", "--var", "CHECKLIST_ROOT=data", "--jobs", "1"]
    old.run(*words, TRANSOM_FAILPOINT="append:50", expect=2)


def make_investigate(old: OldVersion) -> None:
    """Interrupt an investigation while it reads the feature's sources."""
    shutil.copytree(old.examples / "incoming_data" / "feature2", HOME / "data" / "feature2")
    words = ["investigate", "Is the kiosk ready?", "--data", "data", "--as-of", "2026-09-20"]
    old.run(*words, TRANSOM_FAILPOINT="append:30", expect=-9)


def make_story(old: OldVersion) -> None:
    """Interrupt an epic in the middle of its first story."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(old.examples / "stories" / "project", HOME / "project", ignore=ignored)
    shutil.copytree(old.examples / "stories" / "replies", HOME / "replies")
    (HOME / "transom.yaml").write_text(STORY_SETTINGS, encoding="utf-8")
    for words in (
        ["init", "--quiet", "--initial-branch=main", "--template="],
        ["config", "user.name", "Kit Moss"],
        ["config", "user.email", "kit@example.org"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "A till"],
    ):
        git = ["git", "-C", str(HOME / "project"), *words]
        subprocess.run(git, env=environment({}), check=True)
    words = ["story", "run", "--project", "project", "--epic", "epic-1"]
    old.run(*words, TRANSOM_FAILPOINT="append:28", expect=-9)


def make_study(old: OldVersion) -> None:
    """Interrupt a study after a third of its trials."""
    for name in ("beam.py", "beam.yaml", "beam-failures.yaml"):
        shutil.copy(old.examples / "studies" / name, HOME / name)
    study = HOME / "beam.yaml"
    text = study.read_text(encoding="utf-8")
    budget = f"budget: {{trials: {STUDY_TRIALS}}}"
    study.write_text(text.replace("budget: {trials: 40}", budget), encoding="utf-8")
    old.kill_after(f"4/{STUDY_TRIALS} trial", "study", "run", "beam.yaml")


def make_conversation(old: OldVersion) -> None:
    """Interrupt a program while it waits for the answer to its second message."""
    old.run_program(CONVERSATION, expect=-9)


def make_question(old: OldVersion) -> None:
    """End a program at a question to a person."""
    old.run_program(QUESTION)


CASES: dict[str, Callable[[OldVersion], None]] = {
    "demo": make_demo,
    "check": make_check,
    "batch": make_batch,
    "investigate": make_investigate,
    "story": make_story,
    "study": make_study,
    "conversation": make_conversation,
    "question": make_question,
}


def inflate_blobs(database: Path) -> None:
    """Decompress a database's blobs, so that the archive compresses them all together."""
    connection = sqlite3.connect(database)
    connection.create_function("inflate", 1, zlib.decompress)
    with connection:
        connection.execute("UPDATE blobs SET zlib = inflate(zlib)")
    connection.execute("VACUUM")
    connection.close()


def pack(target: Path) -> None:
    """Pack HOME without locks, which name processes of the machine that made it."""
    for database in HOME.rglob("state.db"):
        inflate_blobs(database)

    def member(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if "locks" in Path(info.name).parts and info.name.endswith(".lock"):
            return None
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(HOME.iterdir()):
            archive.add(path, path.name, filter=member)


def main() -> None:
    checkout, version, *cases = sys.argv[1:]
    old = OldVersion(Path(checkout).resolve())
    for case in cases or CASES:
        shutil.rmtree(HOME, ignore_errors=True)
        HOME.mkdir()
        CASES[case](old)
        target = HERE / version / f"{case}.tar.xz"
        pack(target)
        sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")
    shutil.rmtree(HOME)


if __name__ == "__main__":
    main()
