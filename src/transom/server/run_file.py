"""A run as one self-contained file, from the templates of the pages."""

from __future__ import annotations

import base64
import hashlib
import re

from transom.runs.attempts import attempts_of
from transom.runs.stage_rows import stages_of
from transom.server.pages.traces import MOST_SPANS, bars_of, spans_of
from transom.server.pages.windows import BAR_WIDTH, call_view, calls_of
from transom.server.rendering import STATIC_FOLDER, render
from transom.server.run_results import result_of
from transom.server.site import Site, label_of

_MOST_CALLS = 200
# Links to other pages of the server lead nowhere in a file. Text cannot look like one: its
# quotation marks are escaped.
_LINK = re.compile(r' href="/[^"]*"')


def run_file(site: Site, run_id: str) -> str:
    """Return a run as one HTML file: its result, stages, calls and trace.

    The file loads nothing, runs no script, and has one style, which its policy names by digest.

    Raises:
        InputError: there is no such run.
    """
    run = site.runs.run(run_id)
    calls = calls_of(site, run_id)
    views = [call_view(call) for call in calls[:_MOST_CALLS]]
    bars = bars_of(spans_of(site, run_id))
    result = result_of(site, run)
    # In a style element text is not escaped, so the digest is of the file's own bytes.
    style = (STATIC_FOLDER / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values = {
        "row": site.rows([site.runs.summary(run_id)])[0],
        "status": run.status,
        "attempts": attempts_of(run, site.runs.workspace.run_folder(run.row.name, run.row.id)),
        "stages": stages_of(run, label_of(run.row.kind)),
        "result": result,
        "calls": views,
        "call_count": len(calls),
        "bars": bars[:MOST_SPANS],
        "span_count": len(bars),
        "bar_width": BAR_WIDTH,
        "style": style,
        "digest": digest,
    }
    if result is not None:
        values |= result.values
    return _LINK.sub("", render("run_file.html", **values))
