"""The second phase: each source of a feature is read in its own conversation, and only summaries
come back.

A reader's window holds its source, so that a source costs one call. A source that is too long for
that is read with a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from pydantic import Field

from transom.agent import Answer, call
from transom.canonical import Json
from transom.context.cutting import cut
from transom.errors import (
    InputError,
    NetworkFailed,
    OutOfTurns,
    ReplyError,
    RequestRefused,
    WindowOverflow,
)
from transom.evidence.claims import sentences_of
from transom.formats.measurements import Kind, MeasurementShape, Observation, Reading
from transom.formats.office_text import text_bytes
from transom.formats.text_decoding import decode_text
from transom.investigator.cited_states import named_rows
from transom.investigator.features import Feature
from transom.investigator.ledger import Evidence, Ledger
from transom.investigator.reading.analysis import read_analysis_file
from transom.investigator.reading.documents import read_document
from transom.investigator.reading.issues import read_changelog_file, read_issue_file
from transom.investigator.reading.recognition import ANALYSIS_TYPES, OTHER_REVIEW
from transom.investigator.replies import CITED, read_plain, recited
from transom.investigator.result import Unread, Unsupported, unsupported_of
from transom.investigator.roles import READER, insights, json_rows, ours, outside, role_of
from transom.investigator.source_texts import MOST_CONTENT
from transom.investigator.sources import DataFolder
from transom.investigator.stated_relations import unshown_relation
from transom.investigator.tools import reading_tools
from transom.learning import cited_in, shown_in, uncited
from transom.llm import Block, Usage
from transom.runs import Run, Stage, model_file
from transom.tools import Toolbox

# A reader has the source itself; more rows would only repeat it.
_MOST_SHOWN = 14  # observations of a source in its reader's window
_NAMES_ONLY = ("review.approver", "review.author")
MOST_SUMMARY = 900  # characters of a summary
_NOTHING = (ReplyError, OutOfTurns, WindowOverflow, NetworkFailed, RequestRefused)
"""Errors of one source's reader that do not stop the others; observations by the rules still
count.
"""


class SourceRef(MeasurementShape):
    """A source to read.

    Attributes:
        name: the analysis type, `jira`, `changelog`, or the document's file name.
        source: the name in evidence.
        sha256: digest of its bytes, so that a changed source is read again.
    """

    kind: Kind
    name: str
    source: str
    sha256: str = ""

    @property
    def key(self) -> str:
        """Key that is unique in a feature and can be part of a stage's name."""
        return self.source.replace(" ", "  ").replace("/", " ")


def sources_of(data: DataFolder, feature: Feature) -> list[SourceRef]:
    """Return all sources of a feature, in a fixed order: Jira, analyses, documents."""
    sources: list[SourceRef] = []

    def add(kind: Kind, name: str, source: str) -> None:
        sources.append(SourceRef(kind=kind, name=name, source=source, sha256=data.digest(source)))

    # An issue that was fetched from the server replaces the saved one.
    for name, inner, file in (
        ("jira", "issue", data.issue_file(feature)),
        ("changelog", "changelog", data.changelog_file(feature)),
    ):
        if feature.jira_key in data.fetched:
            add("jira", name, f"jira:{feature.jira_key}/{inner}")
        elif file is not None:
            add("jira", name, file.source)
    for name in (*ANALYSIS_TYPES, OTHER_REVIEW):
        for entry in data.analysis_files(feature, name):
            add("analysis", name, entry.source)
    for document in data.docs(feature):
        add("document", PurePosixPath(document.source).name, document.source)
    return sources


def read_source(data: DataFolder, ref: SourceRef) -> Reading:
    """Read one source; the reading's state and reason tell problems."""
    if ref.kind == "document":
        return read_document(data.root / ref.source, ref.source, ref.name)
    if ref.kind == "analysis":
        return read_analysis_file(data.root / ref.source, ref.source, ref.name)
    reader: Callable[[bytes, str], Reading] = (
        read_issue_file if ref.name == "jira" else read_changelog_file
    )
    try:
        return reader(data.read(ref.source), ref.source)
    except InputError as error:
        return Reading(
            source=ref.source, kind="jira", name=ref.name, state="unreadable", why=error.problem
        )


class SourceReport(MeasurementShape):
    """The result for one source: its reading, the reader's summary, and the evidence with ids local
    to it.

    Attributes:
        failed: why there is no summary; "" if there is one.
        by: the provider that wrote the summary; "" if there is none.
        named: ids of the insights that the reader cited.
    """

    key: str
    reading: Reading
    summary: str
    evidence: list[Evidence]
    struck: list[Unsupported]
    failed: str = ""
    by: str = ""
    tokens_read: int = 0
    tokens_returned: int = 0
    named: list[str] = Field(default_factory=list)


async def gather(
    run: Run, question: str, data: DataFolder, feature: Feature, learned: str
) -> tuple[list[SourceReport], Usage]:
    """Read every source of a feature, each in its own conversation, with the insights `learned`.

    Raises:
        Paused: a reader needs a person's answer.
        ProviderError: no provider answered.
    """
    refs = sources_of(data, feature)

    # The insights are an argument, so that a new lesson reads the source again.
    async def read_one(
        stage: Stage, ref: SourceRef, question: str, feature_id: str, learned: str
    ) -> SourceReport:
        reading = read_source(data, ref)
        return await summarised(stage, ref, reading, question, feature_id, data, learned)

    results = await run.map(
        "gather",
        read_one,
        refs,
        question,
        feature.feature_id,
        learned,
        key=lambda ref: ref.key,
        out=model_file("source.json", SourceReport),
        uses=[role_of(READER), role_of(READER, Toolbox(reading_tools(data, feature)).specs)],
    )
    # An error that pauses the run comes before any result: the others are kept in the journal.
    for result in results:
        if stopped := result.question or result.error:
            raise stopped
    artifacts = []
    for entry in results:
        if entry.artifact is not None:
            artifacts.append(entry.artifact)
    total_usage = sum((artifact.usage for artifact in artifacts), Usage())
    return [entry.value for entry in artifacts], total_usage


async def summarised(
    stage: Stage,
    ref: SourceRef,
    reading: Reading,
    question: str,
    feature_id: str,
    data: DataFolder,
    learned: str,
) -> SourceReport:
    """Return a source's reading, and the reader's summary, checked against the ledger."""
    # Ids are local to the source; `together` gives them their numbers in the whole case.
    ledger = Ledger(data.read)
    # Names of approvers repeat the decisions; only a policy that asks for roles needs them.
    facts = []
    for observation in reading.observations:
        if observation.measure not in _NAMES_ONLY:
            facts.append(observation)
    rows = [_row(ledger, fact, reading) for fact in facts[:_MOST_SHOWN]]
    shared = [ours("question", question), json_rows("observations", rows), *insights(learned)]
    failed = provider_name = ""
    try:
        answer = await _ask_reader(stage, ref, reading, data, data.feature(feature_id), shared)
        provider_name = answer.reply.by
        text, read = answer.value, answer.reply.usage.input_tokens
    except _NOTHING as error:
        text, read, failed = "", 0, f"its reader failed: {error.problem}"
        stage.memoise = not getattr(error, "retryable", False)  # a resumed run asks again
    # Places become citations first, since only cited sentences are held to their rows.
    summary = within(ledger.with_places_cited(uncited(text), reading), MOST_SUMMARY)
    checked = ledger.check(
        summary, names=[question, ref.source], sources=[ref.source], relation=unshown_relation
    )
    unsupported = []
    for sentence in (*checked.removed, *checked.undecided):
        # The reason why a source tells nothing is Transom's sentence, not a claim of its reader.
        # Its place, such as `results.json:1`, is no figure.
        if sentence.sentence not in reading.why:
            unsupported.append(sentence)
    struck = unsupported_of(unsupported, ref.source)
    return SourceReport(
        key=ref.key,
        reading=reading,
        summary=checked.text,
        evidence=[*ledger.rows(checked.cited), *_named_entries(checked.text, ledger)],
        struck=struck,
        failed=failed,
        by=provider_name,
        tokens_read=read,
        tokens_returned=len(checked.text) // 4 if read else 0,
        named=[*cited_in(text, shown_in(learned))],
    )


async def _ask_reader(
    stage: Stage,
    ref: SourceRef,
    reading: Reading,
    data: DataFolder,
    feature: Feature,
    shared: Sequence[Block],
) -> Answer[str]:
    """Return a reader's answer; its window holds the source, or a tool reads it.

    Args:
        shared: the blocks that the reader gets either way.
    """
    content = _content_of(data, ref, reading)
    if content:
        task = json_rows("source", [_task(ref, reading)])
        blocks = [task, outside("content", content), *shared]
        # A small model's window may have no room for the source; the tool returns it in parts.
        with suppress(WindowOverflow):
            return await call(stage, role_of(READER), blocks, read_plain)
    # Only a source that did not fit gets a tool: each tool result is a second call.
    tools = Toolbox(reading_tools(data, feature))
    task = json_rows("source", [{**_task(ref, reading), **_reading_tool(ref, reading, feature)}])
    return await call(stage, role_of(READER, tools.specs), [task, *shared], read_plain, tools=tools)


def _content_of(data: DataFolder, ref: SourceRef, reading: Reading) -> str:
    """Return the text of a source; "" if it is too long or was not read in full."""
    # Half a source looks like a whole one to its reader.
    if reading.state in ("unreadable", "in_part"):
        return ""
    try:
        text = decode_text(text_bytes(data.read(ref.source), ref.source))
    except (InputError, OSError):
        return ""
    if len(text) > MOST_CONTENT:
        return ""
    if ref.kind == "document":
        # A reader cites a line by its number, and counts lines badly.
        lines = text.splitlines()
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    return text


def seat_of(report: SourceReport) -> str:
    """Return the stage of a source's reader."""
    return f"gather/{report.key}"


def _task(ref: SourceRef, reading: Reading) -> dict[str, Json]:
    """Return a reader's task: the source, and how far the program could read it."""
    return {
        "source": ref.source,
        "kind": ref.kind,
        "state": reading.state,
        "why": reading.why,
    }


def _reading_tool(ref: SourceRef, reading: Reading, feature: Feature) -> dict[str, Json]:
    """Return the call that reads a source. No tool reads an issue of Jira."""
    if ref.kind == "analysis":
        arguments: dict[str, Json] = {"feature_id": feature.feature_id, "analysis_type": ref.name}
        return {"tool": "get_analysis", "arguments": arguments}
    if ref.kind == "document" and reading.state not in ("unreadable", "in_part"):
        return {"tool": "read_doc", "arguments": {"path": ref.source}}
    return {}


def _row(ledger: Ledger, observation: Observation, reading: Reading) -> dict[str, Json]:
    evidence = ledger[ledger.add(observation, reading)]
    # The target is part of the row, so that a sentence on it can cite the same id.
    row = observation.model_dump(include={"measure", "label", "unit", "nature", "limit", "locator"})
    return {
        **row,
        "id": evidence.id,
        "value": evidence.value,
        "fact": evidence.fact,
        "quote": observation.quote[:160],
    }


def unread(
    data: DataFolder, feature: Feature, reports: Sequence[SourceReport] = ()
) -> list[Unread]:
    """Return the files that could matter and that nobody read, and sources whose readers failed."""
    unread = list[Unread]()
    # A link is not followed, since it may show files that nobody meant to show.
    for source in data.left_out(feature):
        unread.append(Unread(source=source, why="leads out of the feature's folder"))
    for file in data.unused(feature):
        recognition = file.recognition
        why = "an issue beside the feature's"
        if recognition.kind is None:
            why = recognition.reason
        if recognition.could_matter:
            unread.append(Unread(source=file.source, why=why))
    for report in reports:
        if report.failed:
            # The rules have read the source; only a model's summary of it is missing.
            source = report.reading.source
            unread.append(Unread(source=source, why=report.failed, could_matter=False))
    return unread


def together(reports: Sequence[SourceReport], data: DataFolder) -> tuple[Ledger, dict[str, str]]:
    """Return one ledger for all sources, and each summary with that ledger's ids."""
    ledger = Ledger(data.read)
    summaries: dict[str, str] = {}
    for report in reports:
        ids = {row.id: ledger.take(row) for row in report.evidence}
        summaries[report.reading.source] = recited(report.summary, ids)
    return ledger, summaries


def _named_entries(text: str, ledger: Ledger) -> list[Evidence]:
    """Return the entries that sentences name without a citation, so that they are held to them."""
    rows = list(ledger)
    named_evidence = dict[str, Evidence]()
    for sentence, _ in sentences_of(text):
        if not CITED.search(sentence):
            named_evidence |= {row.id: row for row in named_rows(sentence, rows)}
    return list(named_evidence.values())


def within(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, without cutting through a number."""
    if len(text) <= limit:
        return text
    return text[: cut(text, limit, CITED.findall(text))]
