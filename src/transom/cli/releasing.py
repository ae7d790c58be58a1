"""`transom release`: judges all features of a release, and lists what is left to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.evidence_sources import (
    ArtifactsOption,
    DataOption,
    GithubOption,
    GitlabOption,
    JiraOption,
    data_folder,
)
from transom.cli.output import day_of, report_files, style_status
from transom.config.runtime_sections import Notice
from transom.errors import InputError, TransomError
from transom.investigator.features import Feature
from transom.investigator.policy import load_policy, load_waivers
from transom.investigator.release import (
    ReleaseAssessment,
    add_to_history,
    assess_release,
    features_of_version,
    history_file,
    read_history,
)
from transom.investigator.release_report import RELEASE_FORMATS, text_release
from transom.investigator.sources import DataFolder
from transom.runs.notices import notice_without_run

_EXAMPLE = "transom release --data examples/incoming_data --as-of 2026-09-20"


def _rendered(render: Callable[[ReleaseAssessment], str], result: ReleaseAssessment) -> bytes:
    return render(result).encode("utf-8", "replace")


_RENDERERS = {kind: partial(_rendered, render) for kind, render in RELEASE_FORMATS.items()}


@dataclass(frozen=True)
class ReleaseOptions:
    """The options of `release`, besides the common ones."""

    data: DataOption = None
    artifacts: ArtifactsOption = ()
    fix_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Judge the features whose issues have this version."),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Judge these features [all of the folder]."),
    ] = None
    jira: JiraOption = None
    github: GithubOption = None
    gitlab: GitlabOption = None
    target: Annotated[
        str | None,
        typer.Option(metavar="STAGE", help="Stage to judge the features for [the last one]."),
    ] = None
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policy file with your own criteria.")
    ] = None
    waivers: Annotated[Path | None, typer.Option(metavar="FILE", help="Approved waivers.")] = None
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="Day on which it is judged [today].")
    ] = None
    no_memory: Annotated[
        bool,
        typer.Option("--no-memory", help="Neither compare with the last assessment nor save it."),
    ] = False
    reports: Annotated[
        tuple[str, ...],
        typer.Option(
            "--report",
            metavar="FORMAT:PATH",
            help="Write a report: text, json, markdown, html or junit.",
        ),
    ] = ()


@command(root, "release", example=_EXAMPLE, shares="whole")
async def release(session: Session, options: ReleaseOptions) -> int:
    """Judge all features of a release: one table, worst first, and what is left to do.

    Exit: all READY 0, one NOT_READY 1, error 2, otherwise 3.
    """
    reports = report_files(options.reports, _RENDERERS)
    try:
        result = _judge(session, options)
    # E.g. a server that does not answer at night.
    except TransomError as error:
        name = options.fix_version or options.features or "all features"
        notice = notice_without_run("release", name, "failed", "failed", str(error))
        await session.give_notice(notice)
        raise
    text = text_release(result).rstrip("\n")
    text = text.replace(result.verdict, style_status(result.verdict), 1)
    session.show(result, *text.split("\n"), reports=reports)
    for report in reports:
        session.progress(f"written: {report.path}")
    # 3: a feature needs a person's judgement, or more data.
    event: Notice = "waiting" if result.exit_code == 3 else "finished"
    await session.give_notice(notice_without_run("release", result.name, result.verdict, event))
    return result.exit_code


def _judge(session: Session, options: ReleaseOptions) -> ReleaseAssessment:
    """Return the assessment of the features that the options select, and add it to the history."""
    # The version selects the features of a server if no folder has them.
    jql = ""
    if options.fix_version:
        jql = f"fixVersion = {json.dumps(options.fix_version)}"
    data = data_folder(session, options, jql=jql)
    policy_file = session.cwd / options.policy if options.policy else None
    policy = load_policy(policy_file)
    named_stage = policy.stage_named(options.target) if options.target else None
    target = named_stage or policy.stages[-1]
    waivers = load_waivers(session.cwd / options.waivers, policy) if options.waivers else []
    features = _selected(data, options)
    # Without a version, the list or the folder names the history.
    root_name = data.root.name if options.data is None else (session.cwd / options.data).name
    name = options.fix_version or options.features or root_name
    earlier = history_file(session.workspace_root, name, target)
    history = [] if options.no_memory else read_history(earlier)
    as_of = day_of(options.as_of)
    result = assess_release(name, data, features, policy, target, as_of, waivers, history)
    # The next assessment is compared with this one.
    if not options.no_memory:
        add_to_history(history_file(session.workspace.root, name, target), history, result)
    return result


def _selected(data: DataFolder, options: ReleaseOptions) -> list[Feature]:
    """Return the features that the options select; all if they select none."""
    if options.features and options.fix_version:
        raise InputError(
            "both select features", place="--features, --fix-version", hint="give one of them"
        )
    # The issues say which features belong to a version.
    if options.fix_version:
        return features_of_version(data, options.fix_version)
    if options.features:
        names = [name.strip() for name in options.features.split(",") if name.strip()]
        if not names:
            raise InputError("names no feature", place="--features", hint="give A,B,...")
        return list(dict.fromkeys(data.feature(name) for name in names))
    return list(data.features)
