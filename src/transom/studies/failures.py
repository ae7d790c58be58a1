"""Failure classes: classifies the end of a solve, with evidence.

It uses the return code, messages at the start of a line, completion lines, the input deck and the
results. A bare word in a log proves nothing. Classes and patterns are data (`failures.yaml`), which
files of the same form can extend.
"""

from __future__ import annotations

import builtins
import errno
import fnmatch
import math
import os
import re
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.studies.convergence import statements
from transom.studies.job_files import Deck, Results, read_dat, read_deck, read_f06, read_text
from transom.studies.study import Data, Pattern

Severity = Literal["design", "unclear", "machine", "study", "warning"]

_DECK, _TABLES = ".inp", {".dat": read_dat, ".f06": read_f06, ".out": read_f06}
_SILENT = {".bdf", ".frd", ".cvg", ".json", ".yaml", ".tsv", ".csv", ".op2", ".msh", ".png", ".12d"}
_LINES, _CHARACTERS = 5, 700
_LAST = 30  # last lines of a failed run, in which words count without a message mark
# a displacement beyond so many model sizes, or this length, means a free body
_FARTHEST, _FAR = 1000, 1e7
# A path of two names or more, or of a file; a device or a mount point names a machine.
_PATH = re.compile(
    r"(?<![\w/:.])(?!/(dev|proc|sys)/)(~|\.{1,2}|[A-Za-z]:)?"
    r"(([/\\][\w.+~@-]++){2,}[/\\]?|[/\\][\w+~@-]+\.\w+)"
)
_RESIDUAL = 1.0  # residual as a share of the external work; near 1 the system is not solved
_OPEN = {"convergence_failure", "no_result", "solver_error", "crash", "not_finite"}
"""Classes of symptoms; a free body in the deck is the cause behind them."""


class MessageStart(Data):
    """The start of a solver's message line."""

    kind: Literal["error", "warning", "info"]
    starts: Pattern


class Completion(Data):
    """The last line of a tool that finished.

    Attributes:
        unconverged: what a tool prints that finishes the same way without convergence.
        results: tables that are proof enough if the line is cut off.
    """

    tool: str
    of: Pattern
    ends: Pattern
    otherwise: str
    unconverged: Pattern | None = None
    file: str | None = None
    results: Pattern | None = None


class FailureClass(Data):
    """A class of failure; `words` are searched in messages only.

    Attributes:
        severity: who is to blame; `unclear` if it may be the design or the machine.
        own_words: words of a file of one's own, which blame a design without a noun beside them.
        errors: names of error numbers of the operating system, such as ESTALE; their texts are
            words of the class.
        exceptions: exceptions of Python; they and the built-in ones below them are words, too.
    """

    title: str
    severity: Severity
    advice: str = ""
    words: tuple[Pattern, ...] = ()
    own_words: tuple[Pattern, ...] = ()
    errors: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """All patterns of the class: its words, and what its error numbers and exceptions say."""
        texts = []
        for name in self.errors:
            # The text comes from this system: its language and wording are those of its solvers.
            if number := getattr(errno, name, None):  # not every system has every number
                texts.append(rf"(?:^|[:,(\]] ?){re.escape(os.strerror(number))}\b")
        for name in self.exceptions:
            texts.append(rf"\b(?:{'|'.join(_exceptions_below(getattr(builtins, name)))})\b:")
        return (*self.words, *texts)


def _exceptions_below(exception: type[BaseException]) -> list[str]:
    """Return the names of a built-in exception and of those that derive from it."""
    names = []
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, exception):
            names.append(name)
    return names


class Taxonomy(Data):
    """All classes and patterns.

    Attributes:
        design_terms: what only a design or its equations have, such as an element or an increment.
        design_nouns: what a machine may have, too, such as a mesh or a volume.
        machine_nouns: what a machine has, such as a licence server. A message blames a design only
            if it names something of the design, and no more of the machine than its terms outweigh.
    """

    messages: tuple[MessageStart, ...] = ()
    completion: tuple[Completion, ...] = ()
    design_terms: tuple[Pattern, ...] = ()
    design_nouns: tuple[Pattern, ...] = ()
    machine_nouns: tuple[Pattern, ...] = ()
    return_codes: dict[int, str] = Field(default_factory=dict)
    classes: dict[str, FailureClass] = Field(default_factory=dict)

    @cached_property
    def starts(self) -> re.Pattern[str]:
        """One pattern whose groups `m0`, `m1`, ... are the messages in order."""
        # One pattern for all messages: an output of many megabytes is read once.
        parts = (f"(?P<m{n}>{message.starts})" for n, message in enumerate(self.messages))
        return re.compile("^(?:" + ("|".join(parts) or r"(?!)") + ")", re.MULTILINE)

    @cached_property
    def words(self) -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
        """Patterns of each class: its words in files of one's own, and its shipped ones."""
        words = {}
        for name, failure_class in self.classes.items():
            words[name] = (_any_of(failure_class.own_words), _any_of(failure_class.patterns))
        return words

    def class_of(self, text: str) -> str | None:
        """Return the first class whose words occur in a message, or None."""
        blames_design, bare = self.blames_design(text), _without_paths(text)
        # The first class wins, so their order in the file matters.
        for name, failure_class in self.classes.items():
            own, shipped = self.words[name]
            if own.search(text):
                return name
            if failure_class.severity != "design":
                if shipped.search(text):
                    return name
            elif blames_design and shipped.search(bare):
                return name
        return None

    def blames_design(self, text: str) -> bool:
        """Return whether a message names something of a design, and nothing of a machine."""
        return self.names_design(text) and not self.names_machine(text)

    def names_design(self, text: str) -> bool:
        """Return whether a message names something of a design."""
        bare = _without_paths(text)
        return any(pattern.search(bare) for pattern in (self._terms, self._design))

    def names_machine(self, text: str) -> bool:
        """Return whether a message names more of a machine than words outweigh that only designs
        have.
        """
        bare = _without_paths(text)
        return len(_names(self._machine, bare)) > len(_names(self._terms, bare))

    @cached_property
    def _terms(self) -> re.Pattern[str]:
        return _any_of(self.design_terms)

    @cached_property
    def _design(self) -> re.Pattern[str]:
        return _any_of(self.design_nouns)

    @cached_property
    def _machine(self) -> re.Pattern[str]:
        return _any_of(self.machine_nouns)

    def leaves_cause_open(self, failure: str | None) -> bool:
        """Return whether a class leaves open if the design or the machine is the cause."""
        return failure not in self.classes or self.classes[failure].severity == "unclear"

    def merged(self, own: Taxonomy) -> Taxonomy:
        """Return this taxonomy with that of a file of one's own, which takes precedence."""
        classes = {}
        for name, added in own.classes.items():
            own_words = (*added.own_words, *added.patterns)
            none: dict[str, Any] = {"words": (), "errors": (), "exceptions": ()}
            classes[name] = added.model_copy(update={**none, "own_words": own_words})
        for name, shipped in self.classes.items():
            # A file of one's own adds words to a shipped class, and need not repeat its words.
            if extended := classes.get(name):
                own_words = (*extended.own_words, *shipped.own_words)
                shipped = extended.model_copy(
                    update={
                        "words": shipped.words,
                        "errors": shipped.errors,
                        "exceptions": shipped.exceptions,
                        "own_words": own_words,
                    }
                )
            classes[name] = shipped
        return Taxonomy(
            messages=(*own.messages, *self.messages),
            completion=(*own.completion, *self.completion),
            design_terms=(*own.design_terms, *self.design_terms),
            design_nouns=(*own.design_nouns, *self.design_nouns),
            machine_nouns=(*own.machine_nouns, *self.machine_nouns),
            return_codes={**self.return_codes, **own.return_codes},
            classes=classes,
        )


def _without_paths(text: str) -> str:
    """Return a message without the paths of files, whose names say nothing about its cause."""
    return _PATH.sub(" ", text)


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    """Return the different names in a message that a pattern finds."""
    return {match[0].lower() for match in pattern.finditer(text)}


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the patterns; without one, nothing."""
    return re.compile("|".join(f"(?:{one})" for one in patterns) or r"(?!)", re.IGNORECASE)


def load_taxonomy(*own: Path) -> Taxonomy:
    """Load the shipped taxonomy and files that extend it; InputError if one is wrong."""
    taxonomy = Taxonomy()
    for path in (Path(__file__).with_name("failures.yaml"), *own):
        read = validate_yaml(Taxonomy, load_yaml(path))
        taxonomy = taxonomy.merged(read) if taxonomy.classes else read
        for name in (
            *taxonomy.return_codes.values(),
            *(completion.otherwise for completion in taxonomy.completion),
        ):
            if name not in taxonomy.classes:
                raise InputError(
                    f"unknown class {name}", place=str(path), hint="describe it under `classes`"
                )
    return taxonomy


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


@dataclass(frozen=True)
class JobOutput:
    """The output of a solve.

    Attributes:
        texts: file name -> its text, for all files that may have messages.
        return_code: exit status, negative for a signal, None if unknown.
        stopped: the class of the limit that ended it, e.g. `timeout`, and the limit.
        deck: the input deck, if its format is known.
        results: numbers of the result tables, by file.
        values: extracted outputs; missing: expected outputs that were not found.
        finished: pattern that only a run that converged prints.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    return_code: int | None = None
    stopped: tuple[str, str] | None = None
    deck: Deck | None = None
    results: tuple[tuple[str, Results], ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    missing: Sequence[str] = ()
    finished: str | None = None

    @staticmethod
    def read(
        folder: Path,
        return_code: int | None = None,
        *,
        input_files: Collection[str] = (),
        **fields: Any,
    ) -> JobOutput:
        """Read a job's folder, or one output file, by beginning and end of each file.

        Args:
            input_files: names of the solver's input files, which have no messages.
            fields: other fields.
        """
        paths = (
            [folder]
            if folder.is_file()
            else sorted(path for path in folder.iterdir() if path.is_file())
        )
        deck, results, texts = None, [], {}
        for path in paths:
            # A deck and binary files have no messages; a word in them proves nothing.
            kind = path.suffix.lower()
            if kind == _DECK:
                deck = read_deck(read_text(path))
            elif kind not in _SILENT and path.name not in input_files:
                texts[path.name] = read_text(path)
                if read := _TABLES.get(kind):
                    results.append((path.name, read(texts[path.name].splitlines())))
        return JobOutput(texts, return_code, deck=deck, results=tuple(results), **fields)


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
