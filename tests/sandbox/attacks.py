"""Hostile code in an atom's place.

Each attack prints or returns `FIRED` (put together at run time, so that no message quotes it by accident), or leaves
a trace that a witness in the test sees, when it takes effect. Names in capitals are filled in by the test.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

FIRED = "FIRED-9c1"
_F = '"FIRED" + "-9c1"'


# Switches the child's audit hook off for good, so that an attack meets the kernel's walls alone.
DISARM = """
import sys as _sys
_frame = _sys._getframe()
while _frame is not None:
    _host = _frame.f_locals.get("self")
    if hasattr(_host, "audit"):
        type(_host)._running = property(lambda self: False, lambda self, value: None)
    _frame = _frame.f_back
"""


@dataclass(frozen=True)
class Attack:
    """One snippet in an atom's place.

    Attributes:
        kinds: the failures that it may end in; "" is an answer, without the word.
        stops: in plain Python it shows by ending, or never ending, the process.
    """

    name: str
    code: str
    kinds: tuple[str, ...] = ("killed",)
    stops: bool = False


def _atom(name: str, body: str, *kinds: str, top: str = "") -> Attack:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    code = f"{top}\ndef extract_context(text, source_file):\n{lines}\n"
    return Attack(name, code, kinds or ("killed",))


def _stop(name: str, body: str, kind: str) -> Attack:
    return dataclasses.replace(_atom(name, body, kind), stops=True)


ATTACKS = (
    _atom("reads-a-file", 'return [open("SECRET").read()]'),
    _atom("reads-a-file-and-swallows", """
try:
    return [open("SECRET").read()]
except BaseException:
    return []
"""),
    _atom("reads-by-descriptor", 'import os\nreturn [os.read(os.open("SECRET", os.O_RDONLY), 99).decode()]'),
    _atom("reads-through-class-tree", """
for cls in object.__subclasses__():
    if cls.__name__ == "_IOBase":
        raw = [c for c in cls.__subclasses__() if c.__name__ == "_RawIOBase"][0]
        file = [c for c in raw.__subclasses__() if c.__name__ == "FileIO"][0]
        return [file("SECRET").read().decode()]
"""),
    _atom("reads-through-leaked-module", 'import re\nreturn [re.enum.bltns.open("SECRET").read()]'),
    _atom("reads-at-import", "return [stolen]", top='stolen = open("SECRET").read()'),
    _atom("lists-a-folder", f'import os\nreturn [{_F}] if os.listdir("FOLDER") else []'),
    _atom("writes-a-file", 'open("MARK", "w").write("x")\nreturn []'),
    _atom("makes-a-folder", 'import os\nos.mkdir("MARK")\nreturn []'),
    _atom("reads-environment", 'import os\nreturn [os.environ.get("TOKEN", "")]', "crash", "killed", ""),
    _atom("opens-a-socket", f"""
import socket
socket.create_connection(("127.0.0.1", PORT), timeout=2)
return [{_F}]
""", "crash", "killed"),
    _atom("opens-a-raw-socket", f"""
import _socket
s = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
s.connect(("127.0.0.1", PORT))
return [{_F}]
""", "crash", "killed"),
    _atom("forks", f"""
import os
pid = os.fork()
if pid == 0:
    os._exit(7)
return [{_F}] if os.waitpid(pid, 0)[1] >> 8 == 7 else []
"""),
    _atom("executes", 'import os\nos.execv("/bin/sh", ["sh", "-c", "echo FIRED-9c""1"])'),
    _atom("runs-a-command", 'import os\nos.system("touch MARK")\nreturn []'),
    _atom("signals-the-parent", "import os, signal\nos.kill(os.getppid(), signal.SIGUSR1)\nreturn []"),
    _atom("signals-everybody", "import os, signal\nos.kill(HERE, signal.SIGUSR1)\nreturn []"),
    _atom("calls-c", """
import ctypes
data = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
libc.read(libc.open(b"SECRET", 0), data, 64)
return [data.value.decode()]
""", "crash", "killed"),
    _atom("leaves-a-thread", f"""
import _thread, time
seen = []
_thread.start_new_thread(lambda: seen.append({_F}), ())
time.sleep(0.1)
return seen
"""),
    _atom("turns-the-limits-up", f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
return [{_F}] if resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64) else []
"""),
    _atom("takes-memory", f"return [{_F}] if len(bytes(4 << 30)) else []", "memory"),
    _atom("takes-memory-in-pieces", f"""
kept = []
for size in range(500):
    kept.append(bytes(16 << 20))
return [{_F}]
""", "memory"),
    _stop("recurses", """
def down(n):
    return [down(n + 1)]
return down(0)
""", "crash"),
    _stop("overflows-the-stack", """
import sys
sys.setrecursionlimit(10**9)
def down(n):
    return max([n], key=down)
return down(0)
""", "crash"),
    _stop("exits", "import sys\nsys.exit(0)", "crash"),
    _stop("exits-at-once", "import os\nos._exit(0)", "crash"),
    _atom("forges-a-reply", f"""
import os
reply = ('{{"id": 1, "ok": true, "value": "%s"}}' % ({_F})).encode()
for fd in (1, 4):
    try:
        os.write(fd, len(reply).to_bytes(4, "big") + reply)
    except OSError:
        pass
return []
""", "schema"),
    _atom("floods-the-reply-pipe", f"""
import os
while True:
    for fd in (4, 1):
        try:
            os.write(fd, ({_F}).encode() * 1000)
        except OSError:
            pass
""", "output", "schema"),
    _atom("floods-stderr", f"""
import os
while True:
    for fd in (2, 1):
        try:
            os.write(fd, ({_F}).encode() * 1000)
        except OSError:
            pass
""", "output"),
    _atom("answers-too-much", f"return [{_F}] * 1_000_000", "output"),
    _stop("loops", "while True:\n    pass", "timeout"),
    _stop("backtracks", 'import re\nreturn re.search(r"(a+)+$", "a" * 60 + "b")', "timeout"),
    _stop("sleeps", "import time\ntime.sleep(3600)", "timeout"),
    Attack("loops-at-import", "while True:\n    pass", ("timeout",), stops=True),
)  # fmt: skip
