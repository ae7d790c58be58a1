"""Eight exercises of a first hour, in Transom and in two other agent libraries, against one server.

    python benchmarks/first_hour/compare.py --peers VENV/bin/python

Each program is run as a user would, with `OPENAI_BASE_URL` set to a scripted server. Its output
must be the expected one. Columns: lines of code (no blank lines, no comments) and names that the
program imports from the library. Below stands what happens on wrong types, and after a kill.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from server import Scripted, call

HERE = Path(__file__).parent
LIBRARIES = {"transom": "transom", "pydantic_ai": "pydantic_ai", "openai_agents": "agents"}
# Each library's name for the argument of a sub-agent.
TASKS = {"transom": "task", "pydantic_ai": "purpose", "openai_agents": "input"}
COUNT = call("count", item="bolts")

# Exercise -> what the server answers, and what the program prints.
EXERCISES: dict[str, tuple[list[Any], str]] = {
    "hello": (["7 are left."], "7 are left."),
    "tools": ([COUNT, call("price", item="bolts"), "7, at 2 cents."], "7, at 2 cents."),
    "output": (['{"name": "bolts", "left": 7}'], "7"),
    "dependencies": ([COUNT, "7 are left."], "7 are left."),
    "streaming": (["Seven are left."], "Seven| are| left."),
    "sub_agent": ([call("read"), "bolts", "Bolts."], "Bolts."),
    "approval": ([call("order", item="bolts"), "It is ordered."], "It is ordered."),
    "kill": (
        [call("order", item="bolts"), call("confirm", item="bolts"), "It is ordered."],
        "It is ordered.",
    ),
}


def run(
    python: str, program: str, server: Scripted, folder: str
) -> subprocess.CompletedProcess[str]:
    """Run a program text against a server."""
    env = {
        **os.environ,
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "none",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
    path = Path(folder, "program.py")
    path.write_text(program, encoding="utf-8")
    command = [python, str(path)]
    return subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def size_of(text: str, library: str) -> tuple[int, int]:
    """Return the lines of code of a program, and the names that it imports from the library."""
    lines = [
        line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == library:
            names |= {alias.name for alias in node.names}
    return len(lines), len(names)


def last_line(text: str) -> str:
    """Return the last line of an output, cut to a table's width."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"\s+", " ", lines[-1])[:110] if lines else "nothing"


def exercise(python: str, name: str, library: str) -> tuple[bool, str]:
    """Run an exercise; return whether it printed what is expected, and a remark."""
    answers, expected = EXERCISES[name]
    if name == "sub_agent":
        answers = [call("read", **{TASKS[library]: "Read it."}), *answers[1:]]
    program = (HERE / library / f"{name}.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        server = Scripted(list(answers))
        done = run(python, program, server, folder)
        remark = ""
        if name == "kill":
            first = len(server.requests)
            resumed = server_for_resumption(answers)
            done = run(python, program, resumed, folder)
            orders = Path(folder, "orders.txt").read_text(encoding="utf-8").split()
            remark = f"{len(orders)} order(s); model calls {first} + {len(resumed.requests)}"
        is_right = done.returncode == 0 and expected in done.stdout.replace("\n", "")
        return is_right, remark or ("" if is_right else last_line(done.stderr))


def server_for_resumption(answers: list[Any]) -> Scripted:
    """Return a server that answers as a model does: by the results that a request already holds."""
    resumed = Scripted(list(answers))

    def answer_of(body: Any) -> Any:
        results = [message for message in body["messages"] if message["role"] == "tool"]
        return answers[min(len(results), len(answers) - 1)]

    resumed.answer_of = answer_of
    return resumed


def wrong_deps(python: str, library: str) -> str:
    """Return what happens if the dependencies have another type than the tool says."""
    program = (HERE / library / "dependencies.py").read_text(encoding="utf-8")
    program = program.replace('Shop({"bolts": 7})', "42")
    with tempfile.TemporaryDirectory() as folder:
        server = Scripted([COUNT, "It is done."])
        done = run(python, program, server, folder)
    what = last_line(done.stderr) if done.returncode else f"prints {last_line(done.stdout)!r}"
    return f"{what} (after {len(server.requests)} model calls)"


def wrong_output(python: str, library: str) -> str:
    """Return what happens if the model's first answer does not follow the class."""
    program = (HERE / library / "output.py").read_text(encoding="utf-8")
    answers = ['{"name": "bolts", "left": "many"}', '{"name": "bolts", "left": 7}']
    with tempfile.TemporaryDirectory() as folder:
        server = Scripted(list(answers))
        done = run(python, program, server, folder)
    what = last_line(done.stderr) if done.returncode else f"prints {last_line(done.stdout)!r}"
    return f"{what} (after {len(server.requests)} model calls)"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pythons = {library: options.peers for library in LIBRARIES} | {"transom": sys.executable}
    print(f"| exercise | {' | '.join(LIBRARIES)} |")
    print(f"|---|{'---|' * len(LIBRARIES)}")
    totals = dict.fromkeys(LIBRARIES, (0, 0))
    for name in EXERCISES:
        if options.only not in name:
            continue
        cells = []
        for library, package in LIBRARIES.items():
            text = (HERE / library / f"{name}.py").read_text(encoding="utf-8")
            lines, names = size_of(text, package)
            totals[library] = (totals[library][0] + lines, totals[library][1] + names)
            is_right, remark = exercise(pythons[library], name, library)
            outcome = "" if is_right else " FAILS"
            cells.append(f"{lines} lines, {names} names{outcome}{f': {remark}' if remark else ''}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(
        "| all | "
        + " | ".join(f"{lines} lines, {names} names" for lines, names in totals.values())
        + " |"
    )
    for title, trial in (("wrong deps", wrong_deps), ("wrong answer", wrong_output)):
        print(
            f"| {title} | " + " | ".join(trial(pythons[lib], lib) for lib in LIBRARIES) + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
