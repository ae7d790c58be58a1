"""Classifies the end of a solve: its class of failure, with evidence.

It uses the return code, messages at the start of a line, completion lines, the input deck and the
results. A bare word in a log proves nothing.
"""

from __future__ import annotations

import fnmatch
import math
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from transom.studies.convergence import statements
from transom.studies.job_files import Deck
from transom.studies.job_output import JobOutput
from transom.studies.taxonomy import Severity, Taxonomy, load_taxonomy

# What a program that judges outputs of its own needs.
__all__ = [
    "Diagnosis",
    "FailureEvidence",
    "JobOutput",
    "Taxonomy",
    "classify",
    "diagnosis",
    "load_taxonomy",
]

_LINES, _CHARACTERS = 5, 700
_LAST = 30  # last lines of a failed run, in which words count without a message mark
# a displacement beyond so many model sizes, or this length, means a free body
_FARTHEST, _FAR = 1000, 1e7
_RESIDUAL = 1.0  # residual as a share of the external work; near 1 the system is not solved
_OPEN = {"convergence_failure", "no_result", "solver_error", "crash", "not_finite"}
"""Classes of symptoms; a free body in the deck is the cause behind them."""


@dataclass(frozen=True)
class FailureEvidence:
    """One observation: `kind` is message, completion, return code, input, result or limit."""

    kind: str
    text: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.text}" if place else self.text


_Seen: TypeAlias = tuple[str, FailureEvidence]


@dataclass(frozen=True)
class Diagnosis:
    """The outcome of a solve: its class of failure, None for success; the strongest evidence
    first.
    """

    failure: str | None
    severity: Severity = "warning"
    title: str = "solved"
    advice: str = ""
    evidence: tuple[FailureEvidence, ...] = ()

    @property
    def reason(self) -> str:
        """One sentence: the title and the first evidence."""
        return f"{self.title} ({self.evidence[0]})" if self.evidence else self.title


def classify(job: JobOutput, taxonomy: Taxonomy) -> Diagnosis:
    """Classify the end of a solve."""
    errors, warnings = _messages(job, taxonomy)
    observations = list(_input_faults(job.deck)) or _observations(job, taxonomy, errors, warnings)
    # A free body shows as divergence or huge displacements; the deck tells the cause.
    motion = job.deck.free_motion() if job.deck else None
    if motion and observations and observations[0][0] in _OPEN:
        observations.insert(0, ("singularity", FailureEvidence("input", motion)))
    return (
        diagnosis(observations[0][0], taxonomy, *(evidence for _, evidence in observations))
        if observations
        else Diagnosis(None)
    )


def diagnosis(name: str, taxonomy: Taxonomy, *evidence: FailureEvidence) -> Diagnosis:
    """Return a diagnosis of a class, with its evidence."""
    failure_class = taxonomy.classes[name]
    return Diagnosis(
        name, failure_class.severity, failure_class.title, failure_class.advice, evidence
    )


def _observations(
    job: JobOutput,
    taxonomy: Taxonomy,
    errors: list[FailureEvidence],
    warnings: list[FailureEvidence],
) -> list[_Seen]:
    """Return all evidence of failure, the strongest first."""
    # Transom killed it: its last words are about the kill.
    if job.stopped:
        return [(job.stopped[0], FailureEvidence("limit", job.stopped[1]))]
    code = list(_by_code(job.return_code, taxonomy))
    messages = []
    for observation in errors:
        messages.append((taxonomy.class_of(observation.text) or "solver_error", observation))
    # Messages with a class come first; the sort keeps the order of the others.
    messages.sort(key=lambda observation: observation[0] == "solver_error")
    if code and code[0][0] in ("timeout", "missing_solver", "killed"):
        # A limit that a message names is why the process was killed.
        limits = []
        for failure, observation in messages:
            if failure in ("timeout", "memory_error", "disk_full"):
                limits.append((failure, observation))
        return [*(limits if code[0][0] == "killed" else ()), *code, *messages]
    unfinished = list(_unfinished(job, taxonomy))
    # A failed run without a named error: a warning with a class, or its last lines, may say why.
    if (code or unfinished) and all(name == "solver_error" for name, _ in messages):
        with_class = []
        for observation in warnings:
            if name := taxonomy.class_of(observation.text):
                with_class.append((name, observation))
        messages = [
            *(with_class or list(_last_words(job, taxonomy) if code else ()))[:1],
            *messages,
        ]
    weaker = [*_insane(job), *unfinished]
    if code and not messages and not weaker:
        messages = list(_last_line(job))
    missing = [
        ("no_result", FailureEvidence("result", f"{name} was not written")) for name in job.missing
    ]
    # An unspecific return code is weaker evidence than numbers and missing lines.
    weaker = [*weaker, *code] if code and code[0][0] == "solver_error" else [*code, *weaker]
    return [*messages, *weaker, *missing]


def _by_code(code: int | None, taxonomy: Taxonomy) -> Iterator[_Seen]:
    if code:
        # Python gives a signal as a negative return code.
        is_signal = code < 0 and -code in set(signal.Signals)
        words = f"ended by {signal.Signals(-code).name}" if is_signal else f"return code {code}"
        name = taxonomy.return_codes.get(code) or ("crash" if code < 0 else "solver_error")
        yield name, FailureEvidence("return code", words)


def _messages(
    job: JobOutput, taxonomy: Taxonomy
) -> tuple[list[FailureEvidence], list[FailureEvidence]]:
    """Return errors and warnings of all files; equal texts once."""
    texts: dict[str, dict[str, FailureEvidence]] = {"error": {}, "warning": {}, "info": {}}
    for name, text in job.texts.items():
        starts = list(taxonomy.starts.finditer(text))
        line, counted = 1, 0
        for number, match in enumerate(starts):
            kind = taxonomy.messages[int((match.lastgroup or "m0")[1:])].kind
            # A message ends where the next one begins.
            end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
            words = _block(text[match.start() : min(end, match.start() + 4 * _CHARACTERS)])
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            texts[kind].setdefault(words, FailureEvidence("message", words, name, line))
    return list(texts["error"].values()), list(texts["warning"].values())


def _last_words(job: JobOutput, taxonomy: Taxonomy) -> Iterator[_Seen]:
    """Yield the classes in the last lines of a failed run, from the end of each file upwards."""
    for file, text in job.texts.items():
        lines = text.splitlines()
        for number in range(len(lines), max(0, len(lines) - _LAST), -1):
            if name := taxonomy.class_of(lines[number - 1]):
                yield (
                    name,
                    FailureEvidence(
                        "message", " ".join(lines[number - 1].split())[:_CHARACTERS], file, number
                    ),
                )


def _last_line(job: JobOutput) -> Iterator[_Seen]:
    """Yield the last line of a failed run that says nothing known; of its error output, if any."""
    # What a program writes to stderr is more likely its reason than the end of a log.
    for file in sorted(job.texts, key=lambda name: (name != "stderr.txt", name)):
        lines = job.texts[file].rstrip().split("\n")
        if text := " ".join(lines[-1].split())[:_CHARACTERS]:
            yield "solver_error", FailureEvidence("message", text, file, len(lines))
            return


def _block(text: str) -> str:
    """Return a message's first lines up to an empty one, with white space collapsed."""
    lines: list[str] = []
    for line in text.split("\n"):
        # a new page in Nastran
        if lines and (not line.strip() or len(lines) == _LINES or line.startswith("1   ")):
            break
        lines.append(line)
    return " ".join(" ".join(lines).split())[:_CHARACTERS]


def _unfinished(job: JobOutput, taxonomy: Taxonomy) -> Iterator[_Seen]:
    """Yield that a run does not say that it finished, by its own pattern or its solver's."""
    # The study's own pattern is what its user knows: shipped ones are not asked then.
    if finished := job.finished:
        if not any(re.search(finished, text, re.MULTILINE) for text in job.texts.values()):
            yield "no_result", FailureEvidence("completion", f"no output matches {finished!r}")
        return
    for name, text in job.texts.items():
        is_known = False
        for tool in taxonomy.completion:
            # Some tools do not name themselves in their output, but their files have fixed names.
            by_file_name = tool.file is not None and fnmatch.fnmatch(name.lower(), tool.file)
            if not by_file_name and not re.search(tool.of, text, re.MULTILINE):
                continue
            # Some solvers have marks of their own, and say `no convergence` of each iteration.
            is_known = tool.otherwise == "convergence_failure" or tool.unconverged is not None
            if tool.unconverged and (line := re.search(tool.unconverged, text, re.MULTILINE)):
                yield "convergence_failure", FailureEvidence("completion", line[0].strip(), name)
            if not re.search(tool.ends, text, re.MULTILINE):
                observation = FailureEvidence(
                    "completion", f"{tool.tool} does not say that it finished", name
                )
                if not (tool.results and not job.return_code and re.search(tool.results, text)):
                    yield tool.otherwise, observation
            break
        if not is_known and not job.return_code:
            yield from _unconverged(name, text, taxonomy)


def _unconverged(name: str, text: str, taxonomy: Taxonomy) -> Iterator[_Seen]:
    """Yield that the last word on convergence, near the end of an output, is that there is none."""
    lines = text.rstrip().splitlines()
    for index, verdict in statements(lines):
        line = lines[index]
        is_machine = taxonomy.names_machine(line)
        if verdict == "unconverged":
            # A licence server may fail to converge, too, but so may the flow through a server rack.
            failure = "no_result" if is_machine else "convergence_failure"
            words = " ".join(line.split())[:_CHARACTERS]
            yield failure, FailureEvidence("completion", words, name, index + 1)
        elif is_machine and not taxonomy.names_design(line):
            continue  # that a machine's clock converged says nothing about the solution
        return


def _input_faults(deck: Deck | None) -> Iterator[_Seen]:
    if deck and deck.undefined:
        numbers = ", ".join(map(str, deck.undefined[:3]))
        yield (
            "input_error",
            FailureEvidence("input", f"elements name nodes that are not there: {numbers}"),
        )
    if deck and deck.zero_thickness:
        yield "input_error", FailureEvidence("input", "a section has thickness 0")


def _insane(job: JobOutput) -> Iterator[_Seen]:
    """Yield impossible results: not finite, or displacements of a free body."""
    for key, value in job.values.items():
        if not math.isfinite(value):
            yield "not_finite", FailureEvidence("result", f"{key} is {value}")
    # Units are unknown, so a displacement is compared with the size of the model.
    size = job.deck.size if job.deck else 0.0
    for name, table in job.results:
        moved = table.displacement or 0.0
        if moved > (size * _FARTHEST or _FAR):
            against = f" in a model of size {size:.3g}" if size else ""
            yield (
                "singularity",
                FailureEvidence("result", f"a displacement of {moved:.3g}{against}", name),
            )
        if table.bad or not math.isfinite(moved):
            yield (
                "not_finite",
                FailureEvidence("result", table.bad or "a displacement is not finite", name),
            )
        if table.epsilon is not None and table.epsilon >= _RESIDUAL:
            yield (
                "singularity",
                FailureEvidence(
                    "result", f"the residual is {table.epsilon:.3g} of the work done", name
                ),
            )
