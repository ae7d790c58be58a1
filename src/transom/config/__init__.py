"""The settings, from four sources in order of precedence: command line, environment, file,
defaults.

Every setting has a key (`execution.max_iterations`) and an environment variable
(`TRANSOM_EXECUTION__MAX_ITERATIONS`). A relative path in a file is relative to the project's
folder, which has `transom.yaml` or `config/`; elsewhere it is relative to the command's folder.
"""

from transom.config.hosted import HostedSettings, OpenAISettings
from transom.config.load import FILE_NAMES, find_settings_file, load_settings
from transom.config.model import Settings, known_keys, variable_of

__all__ = [
    "FILE_NAMES",
    "HostedSettings",
    "OpenAISettings",
    "Settings",
    "find_settings_file",
    "known_keys",
    "load_settings",
    "variable_of",
]
