"""Runs: journaled stages that survive any kill, honour edits and ask nobody twice."""

from transom.runs.approvals import Approval, ApprovalRequest
from transom.runs.artifact import A_PERSON, Artifact, File, model_file, text_file
from transom.runs.checkpoints import Checkpoint, Retention, checkpoints
from transom.runs.export import adopt, export, retract, source_of
from transom.runs.mapping import MapResult
from transom.runs.questions import PersonAnswer, Question
from transom.runs.run import Run
from transom.runs.stage import Named, Stage
from transom.runs.walk import Route, Table, as_langgraph, to, walk
from transom.runs.workspace import Workspace, find_workspace, trace_id
from transom.runs.written import write_file

__all__ = [
    "A_PERSON",
    "Approval",
    "ApprovalRequest",
    "Artifact",
    "Checkpoint",
    "File",
    "MapResult",
    "Named",
    "PersonAnswer",
    "Question",
    "Retention",
    "Route",
    "Run",
    "Stage",
    "Table",
    "Workspace",
    "adopt",
    "as_langgraph",
    "checkpoints",
    "export",
    "find_workspace",
    "model_file",
    "retract",
    "source_of",
    "text_file",
    "to",
    "trace_id",
    "walk",
    "write_file",
]
