"""Document 003: agentic context engineering, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.documents.door import Door, inside
from tests.documents.rows import row
from transom.compat import ace
from transom.compat.ace import (
    AtomizerPlaybook,
    AtomizerReflector,
    AtomizerSessionState,
    CompactionManager,
    ContextBudgetManager,
    ContextCacheOptimizer,
    FeedbackLoop,
    InsightCategory,
    OptimizationOutcome,
    StablePrefixBuilder,
    TaskType,
)
from transom.learning import Playbook, Reflector
from transom.learning.reflection import propose_insights
from transom.llm import ScriptedProvider
from transom.runs import Workspace

STR, MIS = InsightCategory.STRATEGY, InsightCategory.MISTAKE
PLAYBOOK = "transom.learning.playbook:Playbook"


@row("six categories of insights, with their codes", f"{PLAYBOOK}.add_insight")
def test_categories() -> None:
    playbook = AtomizerPlaybook()
    ids = [playbook.add_insight(each, f"Fact about {each.value}").id for each in InsightCategory]
    assert [key[:-6] for key in ids] == ["str", "mis", "tool", "cal", "dom", "wf"]


@row("equal texts are one insight, also in other spellings", f"{PLAYBOOK}.add_insight")
def test_deduplication() -> None:
    playbook = AtomizerPlaybook()
    first = playbook.add_insight(STR, "Grease the hinge first")
    again = playbook.add_insight(STR, "grease  the HINGE first!")
    assert first.id == again.id
    assert len(playbook.items) == 1


OPPOSITES = [
    ("Use shell elements for thin walls", "Use solid elements for thin walls"),
    ("Fix setup before hold", "Fix hold before setup"),
    ("Divide a/b", "Divide b/a"),
    ("Raise the gain when it drifts", "Lower the gain when it drifts"),
]


@pytest.mark.parametrize("pair", OPPOSITES)
@row("texts that contradict each other stay two", f"{PLAYBOOK}.add_insight")
def test_opposites(pair: tuple[str, str]) -> None:
    playbook = AtomizerPlaybook()
    for text in pair:
        playbook.add_insight(STR, text)
    assert len(playbook.items) == 2


@row("net score and confidence follow from outcomes", f"{PLAYBOOK}.record_outcome")
def test_scores() -> None:
    playbook = AtomizerPlaybook()
    item = playbook.add_insight(STR, "Chill the plate")
    assert playbook.items[item.id].confidence == 0.5
    for helpful in (True, True, True, False):
        assert playbook.record_outcome(item.id, helpful=helpful)
    scored = playbook.items[item.id]
    assert (scored.net_score, scored.confidence) == (2, 0.75)


@row("what evidence condemns is pruned at -3", f"{PLAYBOOK}.prune_harmful")
def test_prune() -> None:
    playbook = AtomizerPlaybook()
    bad, good = playbook.add_insight(STR, "Skip the test"), playbook.add_insight(STR, "Test twice")
    for _ in range(3):
        playbook.record_outcome(bad.id, helpful=False)
    assert playbook.prune_harmful(threshold=-3) == 1
    assert [*playbook.items] == [good.id]


@row("a context for a task, by confidence and number", f"{PLAYBOOK}.get_context_for_task")
def test_context() -> None:
    playbook = AtomizerPlaybook()
    for number in range(6):
        playbook.add_insight(STR, f"Rule {number} of the shop")
    text = playbook.get_context_for_task("optimization", max_items=4, min_confidence=0.5)
    assert text.count("Rule ") == 4
    assert playbook.get_context_for_task("optimization", min_confidence=0.9) == ""


@row("search by words, by category, statistics", f"{PLAYBOOK}.search_by_content")
def test_search() -> None:
    playbook = AtomizerPlaybook()
    playbook.add_insight(MIS, "Never mesh the mirror before it is cut", tags=["mesh"])
    playbook.add_insight(STR, "Weigh twice")
    assert [each.category for each in playbook.search_by_content("mirror mesh")] == [MIS]
    assert playbook.get_stats()["by_category"] == {"mis": 1, "str": 1}


@row(
    "the JSON file of the document's schema, written and read",
    "transom.learning.exchange:save_playbook",
)
def test_json(tmp_path: Path) -> None:
    playbook = AtomizerPlaybook()
    playbook.add_insight(STR, "Oil the chain", source_trial=7, tags=["bike"])
    playbook.save(tmp_path / "playbook.json")
    document = json.loads((tmp_path / "playbook.json").read_text("utf-8"))
    item = document["items"]["str-00001"]
    assert document["version"] == 1
    assert (item["content"], item["source_trials"], item["tags"]) == (
        "Oil the chain",
        [7],
        ["bike"],
    )
    assert AtomizerPlaybook.load(tmp_path / "playbook.json").items == playbook.items


ERRORS = {
    "solution did not converge in 40 steps": "convergence_failure",
    "element 9 has a negative jacobian": "mesh_error",
    "zero pivot in row 12": "singularity",
    "allocation of 3 GB refused": "memory_error",
}


@pytest.mark.parametrize("message", ERRORS)
@row("errors are classified by patterns", "transom.learning.reflector:Reflector.analyze_trial")
def test_error_patterns(message: str) -> None:
    reflector = AtomizerReflector(AtomizerPlaybook())
    outcome = OptimizationOutcome(trial_number=1, success=False, solver_errors=[message])
    (candidate,) = reflector.analyze_trial(outcome)
    kind = ERRORS[message]
    assert kind in candidate.tags
    assert kind in ace.ERROR_PATTERNS


@row(
    "candidates are staged, then committed; a study gives insights too",
    "transom.learning.reflector:Reflector.commit_insights",
)
def test_two_phases() -> None:
    playbook = AtomizerPlaybook()
    reflector = AtomizerReflector(playbook)
    reflector.analyze_trial(
        OptimizationOutcome(trial_number=1, success=False, solver_errors=["zero pivot"])
    )
    reflector.analyze_study_completion("plate", 40, best_value=3.0, convergence_rate=0.9)
    assert not playbook.items
    assert reflector.commit_insights() == 2
    assert len(playbook.items) == 2


@row(
    "the feedback loop credits what a trial used, and finishes a study",
    "transom.learning.feedback:FeedbackLoop.process_trial_result",
)
def test_feedback(tmp_path: Path) -> None:
    loop = ace.FeedbackLoopFactory.create_for_study(tmp_path / "study")
    item = loop.playbook.add_insight(STR, "Sand first")
    for number in range(4):
        result = loop.process_trial_result(
            number, number != 3, 1.0, {"x": 1.0}, [item.id], ["diverged"] if number == 3 else None
        )
        assert result["items_updated"] == [item.id]
    report = loop.finalize_study({"name": "s", "total_trials": 4, "convergence_rate": 0.75})
    assert report["insights_added"] >= 1
    assert loop.playbook.items[item.id].net_score == 2
    assert isinstance(loop, FeedbackLoop)


@row(
    "a session: exposed state with limits, isolated data on demand",
    "transom.learning.session:SessionState.get_llm_context",
)
def test_session() -> None:
    session = AtomizerSessionState(session_id="s1")
    session.exposed.task_type = TaskType.DEBUG_ERROR
    for number in range(14):
        session.add_action(f"turned knob {number}")
    for number in range(7):
        session.add_error(f"fault {number}", error_type="solver")
    session.isolated.full_trial_history.append({"secret": "the whole history"})
    text = session.get_llm_context()
    assert len(session.exposed.recent_actions) <= 10
    assert len(session.exposed.recent_errors) <= 5
    assert "fault 6" in text
    assert "the whole history" not in text
    assert session.load_isolated_data("full_trial_history")


@row("eight types of tasks", "transom.learning.session:SessionState.get_llm_context")
def test_task_types() -> None:
    assert len(TaskType) == 8
    session = AtomizerSessionState()
    for task in TaskType:
        session.exposed.task_type = task
        assert session.get_llm_context()


@row(
    "compaction keeps errors and milestones, and sums up the rest",
    "transom.learning.compaction:compact",
)
def test_compaction() -> None:
    manager = CompactionManager(compaction_threshold=30, keep_recent=5)
    manager.add_milestone("Half of the way", {"percent": 50})
    for number in range(1, 60):
        manager.add_trial_event(number, success=number % 10 != 0, objective=100.0 - number)
        if number == 12:
            manager.add_error_event("did not converge", error_type="solver")
    text = manager.get_context_string()
    assert "did not converge" in text
    assert "Half of the way" in text
    assert "Trial 59 " in text
    assert "Trial 2 " not in text
    assert "Failures=" in text


@row("an event of its own kind can be added", "transom.learning.compaction:CompactedLog._add")
def test_events() -> None:
    manager = CompactionManager()
    manager.add_event(ace.ContextEvent(ace.EventType.ACTION, "opened the case", preserve=True))
    manager.add_event(ace.ContextEvent(ace.EventType.ERROR, "smoke"))
    assert manager.events == ["opened the case", "ERROR: smoke"]


@row(
    "three tiers; an unchanged prefix is a hit; savings are told",
    "transom.learning.caching:CachedContextWriter.prepare_context",
)
def test_cache() -> None:
    prefix = StablePrefixBuilder().add_tools("saw").add_identity("I cut wood. " * 900).build()
    optimizer = ContextCacheOptimizer()
    for number in range(20):
        optimizer.prepare_context(prefix, "today: oak", f"cut {number}")
    stats = optimizer.stats
    assert (stats.total_requests, stats.cache_hits) == (20, 19)
    assert stats.estimated_savings_percent > 75
    assert "Cache Hits: 19/20" in optimizer.get_report()
    optimizer.prepare_context(f"Changed. {prefix}", "today: oak", "cut")
    assert optimizer.stats.cache_hits == 19


@row(
    "the default budget of a window",
    "transom.learning.compaction:ContextBudgetManager.get_available",
)
def test_budget() -> None:
    assert ace.DEFAULT_BUDGET["total"] == 100_000
    manager = ContextBudgetManager()
    manager.update_usage("playbook", 6_000)
    assert manager.is_over_budget("playbook")
    assert not manager.is_over_budget("conversation")
    assert manager.get_available("conversation") == 30_000


@row(
    "mixin and wrapper learn from a runner, and report",
    "transom.studies.integration:Learning.record",
)
def test_wrapper(tmp_path: Path) -> None:
    class Runner:
        def objective(self, trial: dict[str, float]) -> float:
            if trial["width"] > 3:
                raise RuntimeError("the Newton iteration did not converge")
            return trial["width"]

        def run(self, n_trials: int) -> None:
            for number in range(n_trials):
                try:
                    self.objective({"width": float(number)})
                except RuntimeError:
                    continue

    wrapped = ace.ContextAwareRunner(Runner(), folder=tmp_path)
    wrapped.run(n_trials=8)
    assert wrapped.get_learning_report()["failures"] == {"convergence_failure": 4}


ENDPOINTS = [
    ("GET", "/playbook"), ("GET", "/playbook/items"), ("GET", "/playbook/items/{key}"),
    ("POST", "/playbook/feedback"), ("POST", "/playbook/insights"), ("DELETE", "/playbook/items/{key}"),
    ("POST", "/playbook/prune"), ("GET", "/playbook/context"), ("GET", "/session"),
    ("GET", "/session/context"), ("GET", "/cache/stats"), ("GET", "/learning/report"),
]  # fmt: skip


@pytest.fixture
def client(door: Door) -> Any:
    """A client of the pages of a workspace with one insight of a domain and one of all."""
    import asyncio

    from starlette.testclient import TestClient

    from transom.learning import Playbook
    from transom.runs.history import RunHistory
    from transom.server import build_app

    door("playbook", "add", "str", "Glue in the shade")
    door("playbook", "add", "str", "Read the plot twice", "--domain", "checklist")
    workspace = Workspace.known(door.here / ".transom")
    store = workspace.open_store()
    with Playbook(workspace.store_location) as playbook:
        app = build_app(playbook, RunHistory(workspace, store), "token")
        headers = {"Authorization": "Bearer token"}
        with TestClient(app, base_url="http://127.0.0.1:8420", headers=headers) as client:
            yield client
    asyncio.run(store.close())


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@row("twelve endpoints", "transom.server:build_app")
def test_endpoints(client: Any, endpoint: tuple[str, str]) -> None:
    method, path = endpoint
    bodies = {
        "/playbook/feedback": {"item_id": "str-00001", "helpful": True},
        "/playbook/insights": {"category": "mis", "content": "Never glue wet wood"},
    }
    answer = client.request(
        method, f"/api/context{path.format(key='str-00001')}", json=bodies.get(path)
    )
    assert answer.status_code in (200, 201), answer.text
    if path == "/playbook/feedback":
        assert answer.json()["new_score"] == 1


@row("the list has insights of all scopes, with a filter", "transom.server:build_app")
def test_all_scopes(client: Any) -> None:
    shown = client.get("/api/playbook").text
    assert "Glue in the shade" in shown
    assert "Read the plot twice" in shown
    shown = client.get("/api/playbook", params={"scope": "domain/checklist"}).text
    assert "Glue in the shade" not in shown
    assert "Read the plot twice" in shown


@row("insights by command: add, list, feedback, search, prune", "transom.cli.learn:print_list")
def test_commands(door: Door) -> None:
    door("playbook", "add", "tool", "TPE for few variables", "--tag", "sampler")
    assert door("playbook", "feedback", "tool-00001", "--helpful").code == 0
    listed = door.json("playbook", "list")["items"]
    assert (listed[0]["id"], listed[0]["net_score"]) == ("tool-00001", 1)
    assert "TPE" in door("playbook", "search", "few variables").out


@row("notes of the earlier system are migrated", "transom.learning:import_notes")
def test_migration(door: Door) -> None:
    rows = [
        {"category": "failure", "insight": "The jig slips on wet days", "tags": ["jig"]},
        {"category": "success_pattern", "insight": "Clamp before you cut"},
    ]
    door.write("lac/session_insights/a.jsonl", "".join(json.dumps(each) + "\n" for each in rows))
    answer = door("playbook", "import", "lac/session_insights/a.jsonl")
    assert answer.code == 0, answer
    found = {item["category"] for item in door.json("playbook", "list")["items"]}
    assert found == {"mis", "str"}


@row("a skill file for a coding agent, and its session", "transom.cli.learn:open_session")
def test_bootstrap(door: Door) -> None:
    assert door("playbook", "bootstrap", "--dir", ".claude/skills").code == 0
    assert list((door.here / ".claude/skills").rglob("*.md"))
    door("playbook", "add", "str", "Write the test first")
    door("session", "open", "debug_error", "--objective", "the lamp flickers")
    door("session", "note", "--action", "tightened a screw", "--used", "str-00001")
    assert "the lamp flickers" in door("session", "context").out
    closed = door("session", "close", "--good")
    assert "counted for: str-00001" in closed.out


@row("doubtful insights become questions", "transom.learning.curator:Curator.questions")
def test_questions(door: Door) -> None:
    door("playbook", "add", "str", "Cut oak with the fine blade of the old saw")
    door("playbook", "add", "str", "Cut oak with the coarse blade of the old saw")
    assert "str-0000" in door("playbook", "review").out


@row("one playbook and one session of a program", "transom.compat.ace:get_playbook")
def test_program_wide(tmp_path: Path) -> None:
    with inside(tmp_path):
        playbook = ace.get_playbook()
        playbook.add_insight(STR, "Label the jars")
        ace.save_playbook()
        assert Path("knowledge_base/playbook.json").is_file()
        assert ace.get_session() is ace.get_session()
        playbook.close()
    ace._playbook.cache_clear()
    ace.get_session.cache_clear()


TAGGED = (
    '<insights>\n[{"category": "mis", "content": "Sails below 2 mm tear in the tunnel",'
    ' "tags": ["thin", "cloth"], "confidence": 0.7, "evidence": ["o1"]}]\n</insights>'
)


@row(
    "a model proposes insights with their tags, in one call",
    "transom.learning.reflection:propose_insights",
)
async def test_tags_by_a_model(tmp_path: Path) -> None:
    playbook = Playbook(None)
    reflector = Reflector(playbook)
    outcome = OptimizationOutcome(
        trial_number=3,
        success=False,
        solver_errors=["the cloth tore"],
        design_variables={"mm": 1.5},
    )
    model = ScriptedProvider({"learning.reflector": [TAGGED]})
    for _ in range(2):  # the second call asks nobody
        (candidate,) = await propose_insights(reflector, [outcome], model, workspace=tmp_path / "w")
    assert candidate.tags == ("thin", "cloth")
    reflector.commit_insights()
    (insight,) = playbook.snapshot().insights("sails", 500)
    assert insight.tags == ("cloth", "thin")


SAIL_SOLVER = """import json, sys
area, mast = (float(text) for text in sys.argv[1:])
json.dump({"drag": 4 + (area - 6) ** 2 + (mast - 3) ** 2}, open("drag.json", "w"))
"""
SAIL_STUDY = """study: sail
variables: {area: {low: 1, high: 12}, mast: {low: 1, high: 9}}
objectives: [{name: drag}]
solver:
  command: [python3, "{{study_folder}}/sail.py", "{{area}}", "{{mast}}"]
  outputs: {drag: {file: drag.json, json: /drag}}
budget: {trials: 16}
sampler: {seed: 2, surrogate: 12}
"""


@row("a surrogate of the solves screens designs", "transom.studies.surrogate:Surrogate.pick")
def test_surrogate(door: Door) -> None:
    pytest.importorskip("sklearn")
    (door.here / "sail.py").write_text(SAIL_SOLVER)
    (door.here / "sail.yaml").write_text(SAIL_STUDY)
    shown = door("study", "run", "sail.yaml").out
    assert "surrogate: picked" in shown
    door("study", "export", "sail", "-o", "trials.jsonl")
    trials = [json.loads(line) for line in (door.here / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 16
    assert any(trial["predicted"] is not None for trial in trials)
