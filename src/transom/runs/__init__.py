"""Runs: journaled stages that survive any kill, honour edits and ask nobody twice."""

from transom.runs.artifact import (
    A_PERSON,
    Artifact,
    ArtifactFile,
    model_file,
    text_file,
    write_file,
)
from transom.runs.checkpoints import Checkpoint, checkpoints
from transom.runs.questions import PersonAnswer, Question
from transom.runs.run import Run
from transom.runs.stage import Named, Stage
from transom.runs.walk import FlowTable, MapResult, Route, as_langgraph, to, walk
from transom.runs.workspace import Workspace, find_workspace, trace_id

__all__ = [
    "A_PERSON",
    "Artifact",
    "ArtifactFile",
    "Checkpoint",
    "FlowTable",
    "MapResult",
    "Named",
    "PersonAnswer",
    "Question",
    "Route",
    "Run",
    "Stage",
    "Workspace",
    "as_langgraph",
    "checkpoints",
    "find_workspace",
    "model_file",
    "text_file",
    "to",
    "trace_id",
    "walk",
    "write_file",
]
