"""The pages and the REST API of a workspace: its runs, what waits, its playbook; on loopback."""

from transom.server.app import build_agent_app, build_app
from transom.server.client import ApiClient
from transom.server.door import MOST_BYTES, Door
from transom.server.listening import Certificate, listen, new_token, serve, serve_in_loop
from transom.server.run_file import run_file
from transom.server.site import Site

__all__ = [
    "MOST_BYTES",
    "ApiClient",
    "Certificate",
    "Door",
    "Site",
    "build_agent_app",
    "build_app",
    "listen",
    "new_token",
    "run_file",
    "serve",
    "serve_in_loop",
]
