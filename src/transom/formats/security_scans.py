"""Reports of security scanners, recognised by content: SARIF 2.1, Trivy, and others in JSON.

A finding that the tool marks as suppressed or absent is not open: by SARIF's suppressions, if at
least one is accepted or has no status (a rejected one, or one under review, does not suppress), or
by its `baselineState`. Trivy's
`Status: fixed` means that a fixed version exists, so such a vulnerability is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from transom.canonical import Json
from transom.evidence.numbers import PrintedNumber, read_number

_LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
_SCORES = ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.0, "low"))
_FINDING_LISTS = frozenset(
    {"vulnerabilities", "findings", "issues", "alerts", "violations", "secrets"}
)
SEVERITIES = ("critical", "high", "medium", "low")
UNRATED = "unrated"
"""The severity of a finding for which the tool gives none."""
_RANKS = {
    "critical": "critical", "blocker": "critical", "fatal": "critical", "severe": "critical",
    "high": "high", "error": "high", "important": "high", "major": "high", "serious": "high",
    "medium": "medium", "moderate": "medium", "warning": "medium", "warn": "medium",
    "low": "low", "minor": "low", "note": "low", "info": "low", "informational": "low",
    "negligible": "low", "inventory": "low", "none": "low", "experiment": "low", "style": "low",
}  # fmt: skip


@dataclass(frozen=True)
class ScanFinding:
    """One finding.

    Attributes:
        id: the id of the rule or the vulnerability.
        severity: `critical | high | medium | low | unrated`.
        text: its message.
        locator: JSON pointer of the result.
        suppressed: the kind of suppression; "" for an open finding.
    """

    id: str
    severity: str
    text: str
    locator: str
    suppressed: str = ""


@dataclass(frozen=True)
class ScanReport:
    """The report of a scanner.

    Attributes:
        tool: the scanner's name, or the name of its format.
        locator: the place of the findings as a whole.
        problems: what the report says against itself, with its place.
    """

    tool: str
    locator: str
    findings: tuple[ScanFinding, ...]
    problems: tuple[tuple[str, str], ...] = ()


def read_scan(data: Json) -> ScanReport | None:
    """Return the report of a scanner; None if the data is something else."""
    sarif = read_sarif(data)
    if sarif is not None:
        return ScanReport("SARIF", "/runs", tuple(sarif), tuple(_sarif_problems(data)))
    trivy = read_trivy(data)
    if trivy is not None:
        return ScanReport("Trivy", "/Results", tuple(trivy), tuple(_trivy_problems(data)))
    for reader in _READERS:
        report = reader(data)
        if report is not None:
            return replace(report, problems=(*report.problems, *_unread_entries(data, report)))
    return None


def _unread_entries(data: Json, report: ScanReport) -> Iterator[tuple[str, str]]:
    """Yield grave entries in lists of findings that the tool's reader did not look at.

    Tools add parts to their reports; a part that is not known must not be taken for nothing.
    """
    places = [finding.locator for finding in report.findings]
    for locator, entry in _listed_entries(data, ""):
        is_grave = rank_of(entry.get("severity")) in ("critical", "high")
        is_read = any(
            place == locator or place.startswith(f"{locator}/") or locator.startswith(f"{place}/")
            for place in places
        )
        if is_grave and not is_read:
            yield (
                f"{report.tool} has {entry['severity']} entries in a part that is not read",
                locator,
            )
            return


def _listed_entries(value: object, locator: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of all lists under a name of findings, with their places."""
    if isinstance(value, dict):
        for key, inner in value.items():
            place = f"{locator}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if str(key).lower() in _FINDING_LISTS:
                for number, entry in enumerate(_dicts(inner)):
                    yield f"{place}/{number}", entry
            yield from _listed_entries(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _listed_entries(inner, f"{locator}/{number}")


def _sarif_problems(data: Json) -> Iterator[tuple[str, str]]:
    """Yield the runs that did not end well, and a log without any run."""
    runs = _dicts(data["runs"]) if isinstance(data, dict) else []
    if not runs:
        yield "the log has no run", "/runs"
    for number, run in enumerate(runs):
        for place, invocation in enumerate(_dicts(run.get("invocations"))):
            if invocation.get("executionSuccessful") is False:
                locator = f"/runs/{number}/invocations/{place}/executionSuccessful"
                yield "a run was not successful", locator
        # A run without the key `results` did not look; an empty list found nothing.
        if not isinstance(run.get("results"), list):
            yield "a run has no results", f"/runs/{number}"


def _trivy_problems(data: Json) -> Iterator[tuple[str, str]]:
    """Yield targets of another image than the one that the report is about."""
    if not isinstance(data, dict):
        return
    artifact = str(data.get("ArtifactName", ""))
    for number, result in enumerate(_dicts(data.get("Results"))):
        target = str(result.get("Target", ""))
        image, bracket, _ = target.partition(" (")
        if result.get("Class") == "os-pkgs" and bracket and artifact and image != artifact:
            yield f"the report is of {artifact}, its target of {image}", f"/Results/{number}/Target"


def read_sarif(data: Json) -> list[ScanFinding] | None:
    """Return the findings of all runs; None if the data is not SARIF."""
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("runs"), list)
        or "version" not in data
    ):
        return None
    findings: list[ScanFinding] = []
    for number, run in enumerate(_dicts(data["runs"])):
        rules = _rules(run)
        for index, result in enumerate(_dicts(run.get("results"))):
            if result.get("kind", "fail") not in ("fail", "review", "open"):
                continue
            findings.append(_sarif_finding(result, rules, f"/runs/{number}/results/{index}"))
    return findings


def _sarif_finding(
    result: dict[str, Any], rules: dict[object, dict[str, Any]], locator: str
) -> ScanFinding:
    rule_id = str(result.get("ruleId") or _inner(result, "rule").get("id") or "")
    rule = _rule_of(result, rule_id, rules)
    text = str(_inner(result, "message").get("text", ""))
    return ScanFinding(rule_id, _sarif_severity(result, rule), text, locator, _suppressed(result))


def _rules(run: dict[str, Any]) -> dict[object, dict[str, Any]]:
    """Return the rules by id, and those of the driver also by their index."""
    tool = _inner(run, "tool")
    driver_rules = _dicts(_inner(tool, "driver").get("rules"))
    rules = dict[object, dict[str, Any]](enumerate(driver_rules))
    extensions = _dicts(tool.get("extensions"))
    for place, extension in enumerate(extensions):
        # An index of a result counts within the component that its `rule` names.
        for index, rule in enumerate(_dicts(extension.get("rules"))):
            rules[place, index] = rule
            rules.setdefault(rule.get("id"), rule)
    for rule in driver_rules:
        rules[rule.get("id")] = rule
    return rules


def _rule_of(
    result: dict[str, Any], rule_id: str, rules: dict[object, dict[str, Any]]
) -> dict[str, Any]:
    """Return the rule of a result; {} if the log does not describe it."""
    reference = _inner(result, "rule")
    component = _inner(reference, "toolComponent").get("index")
    if component is not None and (component, reference.get("index")) in rules:
        return rules[component, reference.get("index")]
    return rules.get(rule_id) or rules.get(result.get("ruleIndex")) or {}


def _sarif_severity(result: dict[str, Any], rule: dict[str, Any]) -> str:
    """Return the severity by the tool's security score, its own word, or SARIF's level, in that
    order.
    """
    for of in (_inner(result, "properties"), _inner(rule, "properties")):
        try:
            score = float(of["security-severity"])
        except (KeyError, TypeError, ValueError):
            word = str(of.get("issue_severity") or of.get("severity") or "").lower()
            if word in SEVERITIES:
                return word
            continue
        return next(name for least, name in _SCORES if score >= least)
    level = result.get("level") or _inner(rule, "defaultConfiguration").get("level") or "warning"
    return _LEVELS.get(str(level), "medium")


def _suppressed(result: dict[str, Any]) -> str:
    if result.get("baselineState") == "absent":
        return "absent since the baseline"
    listed = _dicts(result.get("suppressions"))
    states = [str(suppression.get("status", "accepted")) for suppression in listed]
    if "accepted" not in states:
        return ""
    return f"suppressed {listed[0].get('kind', 'externally')}"


def read_trivy(data: Json) -> list[ScanFinding] | None:
    """Return vulnerabilities, misconfigurations and secrets of all targets, also of a cluster; None
    if it is not a Trivy report.
    """
    if not isinstance(data, dict):
        return None
    if "SchemaVersion" in data and "ArtifactName" in data:
        return list(_trivy_results(data.get("Results"), "/Results"))
    if "ClusterName" in data and isinstance(data.get("Resources"), list):
        findings = list[ScanFinding]()
        for number, resource in enumerate(_dicts(data["Resources"])):
            findings += _trivy_results(resource.get("Results"), f"/Resources/{number}/Results")
        return findings
    return None


def _trivy_results(listed: object, top: str) -> Iterator[ScanFinding]:
    """Yield the findings of a list of targets."""
    for number, result in enumerate(_dicts(listed)):
        for kind in ("Vulnerabilities", "Misconfigurations", "Secrets"):
            for place, entry in enumerate(_dicts(result.get(kind))):
                if str(entry.get("Status", "")).upper() == "PASS":
                    continue  # a misconfiguration check that passed
                name = entry.get("VulnerabilityID") or entry.get("ID") or entry.get("RuleID")
                text = f"{entry.get('PkgName', '')} {entry.get('Title', '')}".strip()
                locator = f"{top}/{number}/{kind}/{place}"
                rank = rank_of(entry.get("Severity"))
                yield ScanFinding(str(name or ""), rank, text, locator)
        for place, entry in enumerate(_dicts(result.get("ExperimentalModifiedFindings"))):
            inner = _inner(entry, "Finding")
            locator = f"{top}/{number}/ExperimentalModifiedFindings/{place}"
            why = f"suppressed ({entry.get('Status', 'by a statement')})"
            rank = rank_of(inner.get("Severity"))
            yield ScanFinding(str(inner.get("VulnerabilityID", "")), rank, "", locator, why)


def rank_of(word: object) -> str:
    """Return the severity of a tool's own word; `unrated` if the word is unknown or missing."""
    text = str(word or "").strip().casefold().replace("_", " ")
    return _RANKS.get(text) or _RANKS.get(text.partition(" ")[0], UNRATED)


def rank_of_score(score: object) -> str:
    """Return the severity of a CVSS base score; `unrated` if there is none."""
    number = read_number(score)
    if not isinstance(number, PrintedNumber) or not 0 <= number.value <= 10:
        return UNRATED
    return next(name for least, name in _SCORES if number.value >= least)


# Other scanners. Each reader gets the whole document, and returns None for another one.


def _grype(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("matches"), list):
        return None
    findings = list[ScanFinding]()
    for kind, why in (("matches", ""), ("ignoredMatches", "ignored by a rule")):
        for place, match in enumerate(_dicts(data.get(kind))):
            entry = _inner(match, "vulnerability")
            name = str(_inner(match, "artifact").get("name", ""))
            rank = rank_of(entry.get("severity"))
            locator = f"/{kind}/{place}"
            findings.append(ScanFinding(str(entry.get("id", "")), rank, name, locator, why))
    return ScanReport("Grype", "/matches", tuple(findings))


def _semgrep(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return None
    paths = data.get("paths")
    if "errors" not in data or not isinstance(paths, dict) or "scanned" not in paths:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(_dicts(data["results"])):
        extra = _inner(entry, "extra")
        why = "ignored in the source" if extra.get("is_ignored") is True else ""
        text = str(extra.get("message", ""))
        locator = f"/results/{place}"
        rank = rank_of(extra.get("severity"))
        findings.append(ScanFinding(str(entry.get("check_id", "")), rank, text, locator, why))
    problems = list[tuple[str, str]]()
    if data["errors"]:
        problems.append(("the scanner met errors", "/errors"))
    if not paths["scanned"]:
        problems.append(("no file was scanned", "/paths/scanned"))
    return ScanReport("Semgrep", "/results", tuple(findings), tuple(problems))


def _snyk(data: Any) -> ScanReport | None:
    """Read one project, or the list of several."""
    projects = _dicts(data) if isinstance(data, list) else [data]
    if not projects or not all(_is_snyk(project) for project in projects):
        return None
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for number, project in enumerate(projects):
        top = f"/{number}" if isinstance(data, list) else ""
        findings += _snyk_findings(project, top)
        # `snyk container` lists what it found in the image's applications below each of them.
        for place, application in enumerate(_dicts(project.get("applications"))):
            findings += _snyk_findings(application, f"{top}/applications/{place}")
        if project.get("error"):
            problems.append(("the scanner met an error", f"{top}/error"))
        if project.get("dependencyCount") == 0:
            problems.append(("no dependency was looked at", f"{top}/dependencyCount"))
    return ScanReport(
        "Snyk",
        "" if isinstance(data, list) else "/vulnerabilities",
        tuple(findings),
        tuple(problems),
    )


def _snyk_findings(project: dict[str, Any], top: str) -> Iterator[ScanFinding]:
    for place, entry in enumerate(_dicts(project.get("vulnerabilities"))):
        text = f"{entry.get('packageName', '')} {entry.get('title', '')}".strip()
        locator = f"{top}/vulnerabilities/{place}"
        yield ScanFinding(str(entry.get("id", "")), rank_of(entry.get("severity")), text, locator)


def _is_snyk(project: object) -> bool:
    return (
        isinstance(project, dict)
        and isinstance(project.get("vulnerabilities"), list)
        and isinstance(project.get("ok"), bool)
    )


def _npm(data: Any) -> ScanReport | None:
    if not isinstance(data, dict):
        return None
    if "auditReportVersion" in data and isinstance(data.get("vulnerabilities"), dict):
        findings = list[ScanFinding]()
        for name, entry in data["vulnerabilities"].items():
            if isinstance(entry, dict):
                locator = f"/vulnerabilities/{name.replace('~', '~0').replace('/', '~1')}"
                findings.append(ScanFinding(name, rank_of(entry.get("severity")), "", locator))
        problems = list[tuple[str, str]]()
        total = _inner(_inner(data, "metadata"), "dependencies").get("total")
        if total == 0:
            problems.append(("no dependency was looked at", "/metadata/dependencies/total"))
        return ScanReport("npm audit", "/vulnerabilities", tuple(findings), tuple(problems))
    if isinstance(data.get("advisories"), dict) and "metadata" in data:
        findings = []
        for name, entry in data["advisories"].items():
            if isinstance(entry, dict):
                text = f"{entry.get('module_name', '')} {entry.get('title', '')}".strip()
                rank = rank_of(entry.get("severity"))
                findings.append(ScanFinding(name, rank, text, f"/advisories/{name}"))
        return ScanReport("npm audit", "/advisories", tuple(findings))
    return None


def _pip_audit(data: Any) -> ScanReport | None:
    """Read pip-audit, which rates nothing."""
    listed = data.get("dependencies") if isinstance(data, dict) else data
    rows = _dicts(listed)
    if not rows or not all("vulns" in row or "skip_reason" in row for row in rows):
        return None
    top = "/dependencies" if isinstance(data, dict) else ""
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for number, row in enumerate(rows):
        if "skip_reason" in row:
            problems.append((f"{row.get('name')} was skipped", f"{top}/{number}/skip_reason"))
        for place, entry in enumerate(_dicts(row.get("vulns"))):
            locator = f"{top}/{number}/vulns/{place}"
            name = str(row.get("name", ""))
            findings.append(ScanFinding(str(entry.get("id", "")), UNRATED, name, locator))
    return ScanReport("pip-audit", top, tuple(findings), tuple(problems))


def _osv(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return None
    sources = _dicts(data["results"])
    if not all("packages" in source and "source" in source for source in sources):
        return None
    if not sources and data.keys() - {"results", "experimental_config"}:
        return None
    findings = list[ScanFinding]()
    for number, source in enumerate(sources):
        for place, package in enumerate(_dicts(source["packages"])):
            name = str(_inner(package, "package").get("name", ""))
            groups = _dicts(package.get("groups"))
            if not groups:
                findings += _osv_without_groups(package, f"/results/{number}/packages/{place}")
            for at_group, group in enumerate(groups):
                ids = group.get("ids")
                rank = rank_of_score(group.get("max_severity"))
                identifier = str(ids[0]) if isinstance(ids, list) and ids else ""
                locator = f"/results/{number}/packages/{place}/groups/{at_group}"
                findings.append(ScanFinding(identifier, rank, name, locator))
    return ScanReport("OSV-Scanner", "/results", tuple(findings))


def _osv_without_groups(package: dict[str, Any], top: str) -> Iterator[ScanFinding]:
    """Yield the vulnerabilities of a package; only groups have a rating."""
    name = str(_inner(package, "package").get("name", ""))
    for place, entry in enumerate(_dicts(package.get("vulnerabilities"))):
        locator = f"{top}/vulnerabilities/{place}"
        yield ScanFinding(str(entry.get("id", "")), UNRATED, name, locator)


def _dependency_check(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or "scanInfo" not in data or "dependencies" not in data:
        return None
    findings = list[ScanFinding]()
    for number, row in enumerate(_dicts(data["dependencies"])):
        for kind, why in (("vulnerabilities", ""), ("suppressedVulnerabilities", "suppressed")):
            for place, entry in enumerate(_dicts(row.get(kind))):
                rank = rank_of(entry.get("severity"))
                name = str(entry.get("name", ""))
                text = str(row.get("fileName", ""))
                locator = f"/dependencies/{number}/{kind}/{place}"
                findings.append(ScanFinding(name, rank, text, locator, why))
    problems = list[tuple[str, str]]()
    if not data["dependencies"]:
        problems.append(("no dependency was looked at", "/dependencies"))
    return ScanReport("dependency-check", "/dependencies", tuple(findings), tuple(problems))


def _gitlab(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("vulnerabilities"), list):
        return None
    scan = data.get("scan")
    if not isinstance(scan, dict) or "version" not in data:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(_dicts(data["vulnerabilities"])):
        name = str(entry.get("name") or entry.get("message") or entry.get("id") or "")
        rank = rank_of(entry.get("severity"))
        flags = {flag.get("type") for flag in _dicts(entry.get("flags"))}
        why = (
            "flagged as a likely false positive"
            if "flagged-as-likely-false-positive" in flags
            else ""
        )
        findings.append(ScanFinding(name, rank, "", f"/vulnerabilities/{place}", why))
    problems = list[tuple[str, str]]()
    if str(scan.get("status", "success")) != "success":
        problems.append((f"the scan is called {scan['status']}", "/scan/status"))
    return ScanReport("GitLab report", "/vulnerabilities", tuple(findings), tuple(problems))


def _zap(data: Any) -> ScanReport | None:
    sites = data.get("site") if isinstance(data, dict) else None
    if not isinstance(data, dict) or sites is None or "@version" not in data:
        return None
    rows = [sites] if isinstance(sites, dict) else sites
    findings = list[ScanFinding]()
    ranks = {"3": "high", "2": "medium", "1": "low", "0": "low"}
    for number, site in enumerate(_dicts(rows)):
        top = "/site" if isinstance(sites, dict) else f"/site/{number}"
        for place, alert in enumerate(_dicts(site.get("alerts"))):
            rank = ranks.get(str(alert.get("riskcode")), UNRATED)
            name = str(alert.get("alert") or alert.get("name") or "")
            # Confidence 0 is a false positive by a person's word.
            why = "marked as a false positive" if str(alert.get("confidence")) == "0" else ""
            findings.append(ScanFinding(name, rank, "", f"{top}/alerts/{place}", why))
    problems = [] if rows else [("no site was looked at", "/site")]
    return ScanReport("ZAP", "/site", tuple(findings), tuple(problems))


def _checkov(data: Any) -> ScanReport | None:
    reports = _dicts(data) if isinstance(data, list) else [data]
    if not reports or not all(isinstance(row, dict) and "check_type" in row for row in reports):
        return None
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for number, report in enumerate(reports):
        top = f"/{number}" if isinstance(data, list) else ""
        results = _inner(report, "results")
        for place, entry in enumerate(_dicts(results.get("failed_checks"))):
            text = str(entry.get("check_name", ""))
            locator = f"{top}/results/failed_checks/{place}"
            rank = rank_of(entry.get("severity"))
            findings.append(ScanFinding(str(entry.get("check_id", "")), rank, text, locator))
        if _inner(report, "summary").get("parsing_errors"):
            problems.append(("files could not be parsed", f"{top}/summary/parsing_errors"))
    return ScanReport("Checkov", "", tuple(findings), tuple(problems))


def _gitleaks(data: Any) -> ScanReport | None:
    rows = _dicts(data)
    if not rows:
        return None
    # Before version 8.8 there is no fingerprint; up to version 7 the keys are in lower case.
    is_new = all({"RuleID", "StartLine", "Secret"} <= row.keys() for row in rows)
    is_old = all({"rule", "offender", "commit"} <= row.keys() for row in rows)
    if not is_new and not is_old:
        return None
    findings = list[ScanFinding]()
    for place, row in enumerate(rows):
        text = str(row.get("Description", ""))
        rule = str(row.get("RuleID") or row.get("rule"))
        # Each of its findings is a secret in the repository.
        findings.append(ScanFinding(rule, "high", text, f"/{place}"))
    return ScanReport("gitleaks", "", tuple(findings))


def _alerts(data: Any) -> ScanReport | None:
    """Read alerts of GitHub's REST API: code scanning, Dependabot, secret scanning."""
    rows = _dicts(data)
    if not rows or not all(
        "number" in row and "state" in row and "html_url" in row for row in rows
    ):
        return None
    if not all(row.keys() & {"rule", "security_advisory", "secret_type"} for row in rows):
        return None
    findings = list[ScanFinding]()
    for place, row in enumerate(rows):
        rule, advisory = _inner(row, "rule"), _inner(row, "security_advisory")
        word = (
            rule.get("security_severity_level") or rule.get("severity") or advisory.get("severity")
        )
        rank = "high" if "secret_type" in row else rank_of(word)
        name = str(rule.get("id") or advisory.get("ghsa_id") or row.get("secret_type") or "")
        # A dismissed alert is a person's word, a fixed one the tool's.
        state = str(row["state"])
        why = "" if state == "open" else state
        findings.append(ScanFinding(name, rank, "", f"/{place}", why))
    return ScanReport("GitHub alerts", "", tuple(findings))


def _cargo(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or "lockfile" not in data or "database" not in data:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(_dicts(_inner(data, "vulnerabilities").get("list"))):
        advisory = _inner(entry, "advisory")
        name, text = str(advisory.get("id", "")), str(advisory.get("title", ""))
        findings.append(ScanFinding(name, UNRATED, text, f"/vulnerabilities/list/{place}"))
    return ScanReport("cargo audit", "/vulnerabilities", tuple(findings))


def _listed(
    tool: str, key: str, marks: Iterable[str], names: Mapping[str, str]
) -> Callable[[Any], ScanReport | None]:
    """Return the reader of a report that is a list of findings under one key.

    Args:
        marks: keys that a report of this tool has beside the list.
        names: where a finding has its `id`, its `severity` and its `text`.
    """
    needed = frozenset(marks)

    def read(data: Any) -> ScanReport | None:
        if not isinstance(data, dict) or not needed <= data.keys():
            return None
        listed = data.get(key)
        if listed is not None and not isinstance(listed, list):
            return None
        findings = list[ScanFinding]()
        for place, entry in enumerate(_dicts(listed)):
            identifier, text = str(entry.get(names["id"], "")), str(entry.get(names["text"], ""))
            rank = rank_of(entry.get(names["severity"]))
            findings.append(ScanFinding(identifier, rank, text, f"/{key}/{place}"))
        problems = list[tuple[str, str]]()
        for name in ("errors", "Golang errors"):
            if data.get(name):
                problems.append(("the scanner met errors", f"/{name}"))
        return ScanReport(tool, f"/{key}", tuple(findings), tuple(problems))

    return read


_READERS: tuple[Callable[[Any], ScanReport | None], ...] = (
    _grype,
    _semgrep,
    _listed(
        "Bandit",
        "results",
        ("results", "metrics", "generated_at"),
        {"id": "test_id", "severity": "issue_severity", "text": "issue_text"},
    ),
    _listed(
        "Gosec",
        "Issues",
        ("Issues", "Stats", "Golang errors"),
        {"id": "rule_id", "severity": "severity", "text": "details"},
    ),
    _listed(
        "Brakeman",
        "warnings",
        ("warnings", "scan_info"),
        {"id": "warning_type", "severity": "confidence", "text": "message"},
    ),
    _snyk,
    _npm,
    _dependency_check,
    _pip_audit,
    _osv,
    _gitlab,
    _zap,
    _checkov,
    _gitleaks,
    _alerts,
    _cargo,
)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _inner(value: dict[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def open_by_severity(findings: Iterable[ScanFinding]) -> Iterator[tuple[str, list[ScanFinding]]]:
    """Yield each severity with its open findings, also if there are none."""
    open_findings = [finding for finding in findings if not finding.suppressed]
    for severity in SEVERITIES:
        yield severity, [finding for finding in open_findings if finding.severity == severity]
