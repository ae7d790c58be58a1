"""What a file of a feature is: its content decides, its name only breaks ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from transom.errors import InputError
from transom.evidence.account import file_could_matter
from transom.formats.data_text import data_suffix
from transom.formats.jira import read_issue, status_changes
from transom.formats.measurements import Kind
from transom.formats.office_text import OFFICE_SUFFIXES
from transom.formats.side_reports import side_report
from transom.formats.text_decoding import decode_text
from transom.formats.written_forms import FORM_SUFFIXES, read_form
from transom.investigator.reading.analysis import tool_report
from transom.investigator.reading.content_signs import CONTENT_SIGNS, PIPELINE, STAKEHOLDERS
from transom.investigator.reading.pipelines import is_run
from transom.investigator.reading.reviews import read_decisions
from transom.investigator.reading.tool_reports import COVERAGE, LOAD, SCAN, TESTS
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import file_words, key_words, word_set, words

UAT, SECURITY_REVIEW = "reviews/uat", "reviews/security"
OTHER_REVIEW = "reviews/other"
OTHER_DATA = "metrics/other"
ANALYSIS_TYPES = (
    LOAD,
    PIPELINE,
    SCAN,
    COVERAGE,
    TESTS,
    SECURITY_REVIEW,
    STAKEHOLDERS,
    UAT,
)
DOCUMENT_SUFFIXES = FORM_SUFFIXES
_DATA_SUFFIXES = (".json", ".jsonl", ".ndjson", ".xml", ".sarif", ".yaml", ".yml", ".csv", ".tsv",
                  ".trx", ".jtl", ".info", ".out")  # fmt: skip
_DOCUMENT_FOLDERS = word_set("planning plan doc document documentation design")
_PROSE_SUFFIXES = (".md", ".markdown", ".rst", ".adoc")
_REVIEWS = (UAT, SECURITY_REVIEW, STAKEHOLDERS, OTHER_REVIEW)
# `known-issues.md` is a list of trouble; `error-handling.md` is not.
_OPEN_LIST = word_set("known open outstanding unresolved remaining pending")
_OPEN_ENTRIES = word_set("issue defect bug problem finding point question item blocker error")
_TITLES = ("title", "type", "kind", "document")
_REVIEWERS = word_set("reviewer approver auditor assessor")
_TESTERS = word_set("tester")
_PLANS = word_set(
    "plan design architecture requirement story specification runbook rollout deployment concept"
)
_REVIEW_FOLDERS = word_set("review approval signoff sign")
# Words of a file's name, from the most to the least telling.
_NAMES: tuple[tuple[str, frozenset[str]], ...] = (
    (UAT, word_set("uat acceptance")),
    (COVERAGE, word_set("coverage cobertura jacoco lcov clover istanbul cov")),
    (STAKEHOLDERS, word_set("stakeholder signoff approval approver board sign")),
    (LOAD, word_set("performance load k6 benchmark jmeter gatling locust latency perf stress")),
    (PIPELINE, word_set("pipeline ci build jenkins workflow actions run runs")),
    (TESTS, word_set("test junit unit spec pytest jest surefire")),
    (
        SCAN,
        word_set("scan sarif trivy grype snyk semgrep vulnerability sast dast audit codeql"),
    ),
    (SCAN, word_set("security dependency zap")),
)
# A specification of feature folders has this name for the results of unit tests.
_ALIASES = {"metrics/unit_test_coverage": TESTS}
_SECURITY = word_set("security pentest penetration threat appsec")


@dataclass(frozen=True)
class Recognition:
    """What a file is taken for.

    Attributes:
        kind: the kind of source, or None if nobody reads it.
        name: the analysis type, `jira`, `changelog`, or the file's name for a document.
        reason: by what it was recognised, or why it is not read.
    """

    kind: Kind | None
    name: str
    reason: str
    could_matter: bool = False


def name_of(path: PurePosixPath, title: str = "") -> str | None:
    """Return the analysis type that the name of a file in its feature's folder suggests.

    Args:
        title: what the file calls itself; it outranks the names of the folders.
    """
    full = f"{path.parent.name}/{path.name.casefold().replace('-', '_').partition('.')[0]}"
    full = _ALIASES.get(full, full)
    for name in ANALYSIS_TYPES:
        if full == name or full.startswith(f"{name}_"):
            return name
    stem = set[str]()
    for part in path.name.split("."):
        stem.update(file_words(part))
    title_words = set(file_words(title))
    folders = _folder_words(path)
    if {"go", "no"} <= stem:
        return STAKEHOLDERS
    is_review = bool((_REVIEW_FOLDERS | {"pentest"}) & (stem | title_words | folders))
    # The file's own name comes first: `metrics/reviews.json` is a review.
    for name_words in (stem, title_words, folders):
        if is_review and _SECURITY & name_words and name_words is not folders:
            return SECURITY_REVIEW
        for name, telling in _NAMES:
            if telling & name_words and (name in (UAT, STAKEHOLDERS) or not is_review):
                return name
    if is_review:
        return SECURITY_REVIEW if _SECURITY & folders else OTHER_REVIEW
    return None


def is_exact(path: PurePosixPath) -> bool:
    """Return whether a file has the usual name and folder of its analysis type."""
    full = f"{path.parent.name}/{path.name.casefold().replace('-', '_').partition('.')[0]}"
    return _ALIASES.get(full, full) in ANALYSIS_TYPES


def recognise(path: PurePosixPath, data: Callable[[], bytes]) -> Recognition:
    """Return what a file is.

    Args:
        path: its path within the feature's folder.
        data: reads its bytes.
    """
    if not file_could_matter(path.name):
        return Recognition(None, "", "source code, a picture or a build output")
    suffix = data_suffix(path.name)
    # A plan is known by its folder, without reading a file of many megabytes.
    if suffix in FORM_SUFFIXES and suffix not in OFFICE_SUFFIXES and _is_plain_document(path):
        return Recognition("document", path.name, "a document by its folder")
    try:
        text = decode_text(data()).strip()
    except InputError as error:
        return _unread(path, error.problem)
    if suffix in FORM_SUFFIXES and text[:1] not in ("{", "["):
        return _of_form(path, text)
    try:
        if suffix in _DATA_SUFFIXES or text[:1] in ("<", "{", "["):
            return _of_data(path, text)
        report = tool_report(text, path.name)
    except (InputError, RecursionError):
        report = None
    if report is not None and not isinstance(report, Node):
        return Recognition("analysis", _placed(report.report.name, path), report.report.tool)
    return _unread(path, f"no reader knows {suffix or 'such'} files")


def _folder_words(path: PurePosixPath) -> set[str]:
    folder_words = set[str]()
    for part in path.parts[:-1]:
        folder_words.update(file_words(part))
    return folder_words


def _is_plain_document(path: PurePosixPath) -> bool:
    """Return whether a text is a document whatever it says: it lies with the plans, and is not
    called a review.
    """
    is_placed = bool(_DOCUMENT_FOLDERS & _folder_words(path))
    return is_placed and name_of(path) not in _REVIEWS and not _is_open_list(path)


def _is_open_list(path: PurePosixPath) -> bool:
    stem = set(key_words(path.stem))
    return bool(stem & _OPEN_LIST) and bool(stem & _OPEN_ENTRIES)


def _of_form(path: PurePosixPath, text: str) -> Recognition:
    """Recognise a written text: a review, a report in a table, or a document."""
    suffix = data_suffix(path.name)
    form = read_form(text, path.name)
    root = Node(form or {})
    name = name_of(path)
    is_placed = bool(_DOCUMENT_FOLDERS & _folder_words(path))
    if _is_open_list(path):
        return Recognition("analysis", OTHER_REVIEW, "a list of what is open")
    if name in _REVIEWS and (not is_placed or _decides(root)):
        return Recognition("analysis", str(_titled(path, root)), "a review by its name")
    if is_placed:
        return Recognition("document", path.name, "a document by its folder")
    if _is_review(path, root, name):
        kind = _review_kind(path, root, name) or OTHER_REVIEW
        return Recognition("analysis", kind, "a review by its content")
    readers = dict(CONTENT_SIGNS)
    if name in readers and form is not None and readers[name](root.inner):
        return Recognition("analysis", name, "by its name and its content")
    is_page = suffix in (".html", ".htm")
    if is_page and name is None and _is_plan(path, root):
        return Recognition("document", path.name, "a document by its title")
    if is_page or (name in ANALYSIS_TYPES and suffix not in _PROSE_SUFFIXES):
        # The output of a tool, or its page: nobody knows what it says.
        return Recognition(None, "", "no reader knows its content", could_matter=True)
    if _has_failed_rows(root):
        return Recognition("analysis", OTHER_REVIEW, "a table of results with a failed one")
    return Recognition("document", path.name, "a document by its suffix")


def _titled(path: PurePosixPath, root: Node) -> str | None:
    """Return the analysis type by what a review calls itself, and by its name."""
    titles = [root.get(key) for key in _TITLES]
    title = " ".join(str(node.value) for node in titles if node is not None and node.is_leaf)
    return name_of(path, title)


def _is_review(path: PurePosixPath, root: Node, name: str | None) -> bool:
    """Return whether a text or data is a person's review of its matter.

    A scan may be called like a review of security, but names nobody who reviewed.
    """
    if name not in (None, SCAN) or not _decides(root):
        return False
    return name is None or _titled(path, root) in _REVIEWS or _names(_REVIEWERS, root)


def _review_kind(path: PurePosixPath, root: Node, name: str | None) -> str | None:
    """Return the kind of a review by its title, its name, and by whom it names; None if unsure."""
    titled = _titled(path, root)
    if titled in _REVIEWS:
        return titled
    return SECURITY_REVIEW if name == SCAN else None


def _names(people: frozenset[str], root: Node) -> bool:
    """Return whether a document has a key at its top for people of a kind."""
    return any(people & set(node.words) for node in root.inner.children)


def _is_plan(path: PurePosixPath, root: Node) -> bool:
    """Return whether a page is called a plan and is prose: the page of a tool has a table."""
    title = root.get("title")
    named = set(file_words(path.stem)) | set(file_words(str(title.value) if title else ""))
    has_rows = any(isinstance(node.value, dict) and node.place >= 0 for node in root.walk())
    return bool(_PLANS & named) and not has_rows


def _has_failed_rows(root: Node) -> bool:
    """Return whether a table has a column of results, and a failed one among them.

    Words in the first column are names: `| rejected | The clerk refused the request. |`.
    """
    for node in root.walk():
        rows = [row for row in node.children if isinstance(row.value, dict)]
        if not isinstance(node.value, list) or not rows:
            continue
        columns = dict[str, list[str | None]]()
        for row in rows:
            for cell in row.children[1:]:
                columns.setdefault(cell.key, []).append(words().status_of(cell.value))
        for statuses in columns.values():
            if len(statuses) == len(rows) and None not in statuses and "fail" in statuses:
                return True
    return False


def _decides(root: Node) -> bool:
    """Return whether a text states a decision in words that are known; a status is none."""
    observations, _ = read_decisions(root)
    for observation in observations:
        if observation.measure not in ("review.decision", "review.person"):
            continue
        is_state = set(key_words(observation.locator.rpartition("/")[2])) <= {"status", "state"}
        if not is_state and words().status_of(observation.said):
            return True
    return False


def _unread(path: PurePosixPath, reason: str) -> Recognition:
    name = name_of(path)
    # A file that is called a test report and cannot be read is not absent.
    if name in ANALYSIS_TYPES and data_suffix(path.name) in _DATA_SUFFIXES:
        return Recognition("analysis", name, "by its name")
    is_document = bool(_DOCUMENT_FOLDERS & _folder_words(path))
    if is_document and "install" not in reason:
        reason = f"{reason}; write the document as Markdown"
    return Recognition(None, "", reason, could_matter=True)


def _placed(name: str, path: PurePosixPath) -> str:
    """Return the type of a tool's report; test results of acceptance tests are those of UAT."""
    if name == TESTS and name_of(path) == UAT:
        return UAT
    return name


def _of_data(path: PurePosixPath, text: str) -> Recognition:
    """Recognise data by its content."""
    if not text:
        return _unread(path, "is empty")
    if aside := side_report(text, path.name):
        return Recognition(None, "", aside)
    try:
        report = tool_report(text, path.name)
    except InputError as error:
        return _unread_data(path, error.problem)
    if not isinstance(report, Node):
        return Recognition("analysis", _placed(report.report.name, path), report.report.tool)
    jira = _of_jira(path, report)
    if jira is not None:
        return jira
    by_name = name_of(path)
    if is_run(report) and by_name not in _REVIEWS:
        return Recognition("analysis", PIPELINE, "a run of a pipeline by its content")
    recognised_name = by_name if by_name in ANALYSIS_TYPES else None
    # Trying all readers costs as much as reading the file, so it is left to unsure names.
    if recognised_name and is_exact(path):
        return Recognition("analysis", recognised_name, "by its name")
    if recognised_name in _REVIEWS:
        return Recognition("analysis", str(_titled(path, report)), "by its name")
    return _by_content(path, report, by_name)


def _by_content(path: PurePosixPath, root: Node, by_name: str | None) -> Recognition:
    """Return the type whose reader finds facts in the data; the name decides between several."""
    candidates = []
    for name, reader in CONTENT_SIGNS:
        if reader(root.inner):
            candidates.append(name)
    if STAKEHOLDERS in candidates and _is_review(path, root, by_name):
        kind = _review_kind(path, root, by_name)
        # Testers who decide: counts alone would be those of unit tests.
        if kind is None and set(candidates) == {TESTS, STAKEHOLDERS} and _names(_TESTERS, root):
            kind = UAT
        if kind is not None:
            return Recognition("analysis", kind, "a review by its content")
    if by_name in ANALYSIS_TYPES and (by_name in candidates or len(candidates) != 1):
        return Recognition("analysis", by_name, "by its name")
    if by_name == OTHER_REVIEW:
        titled = str(_titled(path, root))
        return Recognition("analysis", titled, "a review by its name")
    if len(candidates) == 1:
        return Recognition("analysis", _reviewed(candidates[0], path), "by its content")
    if candidates:
        kinds = " or ".join(candidates)
        return Recognition(None, "", f"may be {kinds}", could_matter=True)
    return Recognition(None, "", "no reader knows its content", could_matter=True)


def _reviewed(name: str, path: PurePosixPath) -> str:
    """Return the kind of review by a file's name, since decisions look alike in all of them."""
    stem = set(key_words(path.stem))
    if name == STAKEHOLDERS and _SECURITY & stem:
        return SECURITY_REVIEW
    return name


def _unread_data(path: PurePosixPath, reason: str) -> Recognition:
    """Return the recognition of data that cannot be read: by its name, or not at all."""
    if path.parent.name == "jira":
        name = "jira"
        if "changelog" in path.name.casefold():
            name = "changelog"
        return Recognition("jira", name, "by its name")
    return _unread(path, reason)


def _of_jira(path: PurePosixPath, root: Node) -> Recognition | None:
    """Return the recognition of a Jira issue or a changelog; None for other data."""
    data = root.value
    is_placed = path.parent.name == "jira" or "jira" in path.name.casefold()
    has_fields = isinstance(data, dict) and ("fields" in data or "issues" in data)
    changes = status_changes(data)
    if changes and not has_fields:
        return Recognition("jira", "changelog", "a changelog by its content")
    issue = read_issue(data)
    if issue is not None and (has_fields or is_placed):
        return Recognition("jira", "jira", "an issue by its content")
    if is_placed:
        name = "jira"
        if "changelog" in path.name.casefold():
            name = "changelog"
        return Recognition("jira", name, "by its name")
    return None
