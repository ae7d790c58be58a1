"""Sandboxed workers for untrusted code, which can only read their input and answer JSON; and
sandboxed commands.
"""

from transom.sandbox.commands import CommandLimits, Done, run_command
from transom.sandbox.enclosure import agent_line
from transom.sandbox.launch import Level, WorkerLimits
from transom.sandbox.levels import Probe, needs, probe
from transom.sandbox.openly import run_openly
from transom.sandbox.worker import Sandbox, Worker

__all__ = [
    "CommandLimits",
    "Done",
    "Level",
    "Probe",
    "Sandbox",
    "Worker",
    "WorkerLimits",
    "agent_line",
    "needs",
    "probe",
    "run_command",
    "run_openly",
]
