"""Runs: journaled stages that survive any kill, honour edits and ask nobody twice."""

from transom.runs.artifact import A_PERSON, Artifact, File, model_file, text_file
from transom.runs.checkpoints import Checkpoint, Retention, checkpoints
from transom.runs.export import adopt, export, retract
from transom.runs.run import Run, trace_id
from transom.runs.stage import Stage, write_file
from transom.runs.workspace import Workspace, find_workspace

__all__ = [
    "A_PERSON",
    "Artifact",
    "Checkpoint",
    "File",
    "Retention",
    "Run",
    "Stage",
    "Workspace",
    "adopt",
    "checkpoints",
    "export",
    "find_workspace",
    "model_file",
    "retract",
    "text_file",
    "trace_id",
    "write_file",
]
