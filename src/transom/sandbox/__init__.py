"""Workers for untrusted code: it can read the text that it is given and answer JSON, nothing else."""

from transom.sandbox.launch import Level, Limits
from transom.sandbox.levels import Probe, probe
from transom.sandbox.worker import Sandbox, Worker

__all__ = ["Level", "Limits", "Probe", "Sandbox", "Worker", "probe"]
