"""Hostile code for an atom's place, be it one of the three functions or the module itself.

Each attack is a function's body. When it takes effect it returns `FIRED` (put together at run time,
so that no message quotes it by accident) or leaves a trace that a witness in the test sees. Names
in capitals are filled in by the test.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

FIRED = "FIRED-9c1"
_F = '"FIRED" + "-9c1"'
PLACES = ("import", "extract_context", "validate_logic", "check_existence")

# Takes away what the child only does for good messages (its audit hook, its own `import`), so that
# an attack meets the kernel's walls alone.
DISARM = """
import re as _re
_sys = _re.enum.sys
_frame = _sys._getframe()
while _frame is not None:
    _host = _frame.f_locals.get("self")
    if hasattr(_host, "audit"):
        type(_host)._running = property(lambda self: False, lambda self, value: None)
    _frame = _frame.f_back
_own = globals()["__builtins__"]
_own = _own if isinstance(_own, dict) else vars(_own)
_own["__import__"] = _re.enum.bltns.__import__
_lib = _sys.modules["_frozen_importlib"]
_sys.meta_path[:0] = [_lib.BuiltinImporter, _lib.FrozenImporter]
"""

# The places: what the attack says comes out in the verdict, in the shape that its place must have.
_ENTRY = (
    '[{"value": str(said), "source_file": source_file, "line_number": 1, "matched_content": "", '
    '"parsed_fields": {"path": {"state": "x"}}}]'
)
_ANSWER = (
    '{"is_match": False, "reason": str(said), "matched_content": "", "kind": "x", "evidence": []}'
)
_MODULE = """
{disarm}
def attack():
{body}

SOURCES = [{{"kind": "path", "rank": "primary", "files": ["*.log"]}}]
said = {at_import}

def extract_context(text, source_file):
    said = {in_a}
    return {entry}

def validate_logic(text, pattern, parsed_fields=None, default_match="contains", regex_mode="search"):
    said = {in_b}
    return {answer}

def check_existence(items):
    said = {in_c}
    return {answer}
"""


@dataclass(frozen=True)
class Attack:
    """One body.

    Attributes:
        stops: in plain Python it shows by ending, or never ending, the process.
        slow: it ends by the clock alone.
        quiet: it may get an answer, just not what it wanted; the verdict need not be ERROR.
    """

    name: str
    body: str
    stops: bool = False
    slow: bool = False
    quiet: bool = False

    def module(self, place: str, *, disarmed: bool = False) -> str:
        """Atoms with the attack in one place."""
        calls = dict.fromkeys(("at_import", "in_a", "in_b", "in_c"), '"-"')
        calls[dict(zip(PLACES, calls, strict=True))[place]] = "attack()"
        if place == "import":
            calls["in_a"] = "globals()['said']"
        return _MODULE.format(
            disarm=DISARM if disarmed else "", body=textwrap.indent(self.body.strip("\n"), "    "), entry=_ENTRY,
            answer=_ANSWER, **calls,
        )  # fmt: skip


def _fires(condition: str, before: str = "") -> str:
    return f"{before}\nreturn {_F} if {condition} else '-'"


_C = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

_FILES = (
    Attack("reads-a-file", 'return open("SECRET").read()'),
    Attack("reads-and-swallows", 'try:\n    return open("SECRET").read()\nexcept BaseException:\n    return "-"'),
    Attack("reads-by-descriptor", 'import os\nreturn os.read(os.open("SECRET", os.O_RDONLY), 99).decode()'),
    Attack("reads-through-class-tree", """
for cls in object.__subclasses__():
    if cls.__name__ == "_IOBase":
        raw = [c for c in cls.__subclasses__() if c.__name__ == "_RawIOBase"][0]
        file = [c for c in raw.__subclasses__() if c.__name__ == "FileIO"][0]
        return file("SECRET").read().decode()
"""),
    Attack("reads-through-leaked-builtins", 'import re\nreturn re.enum.bltns.open("SECRET").read()'),
    Attack("reads-through-leaked-os", """
import re
os = re.enum.sys.modules["os"]
return os.read(os.open("SECRET", 0), 99).decode()
"""),
    Attack("reads-by-a-loader", """
import re
lib = re.enum.sys.modules["_frozen_importlib_external"]
return lib.SourceFileLoader("x", "SECRET").get_data("SECRET").decode()
"""),
    Attack("reads-code-to-import", 'import io\nreturn io.open_code("SECRET").read().decode()'),
    Attack("reads-by-codecs", 'import codecs\nreturn codecs.open("SECRET", encoding="utf-8").read()'),
    Attack("reads-by-linecache", 'import linecache\nreturn linecache.getline("SECRET", 1)'),
    Attack("reads-inherited-descriptors", """
import re
os = re.enum.sys.modules["os"]
for fd in range(300):
    try:
        said = os.pread(fd, 99, 0).decode()
    except (OSError, ValueError):
        continue
    if "FIRED" in said:
        return said
return "-"
""", quiet=True),
    Attack("looks-at-a-file", _fires("os.stat('SECRET').st_size", 'import os')),
    Attack("lists-a-folder", _fires("os.listdir('FOLDER')", 'import os')),
    Attack("scans-a-folder", _fires("list(os.scandir('FOLDER'))", 'import os')),
    Attack("asks-where-it-is", _fires("os.getcwd()", 'import os')),
    Attack("writes-a-file", 'open("MARK", "w").write("x")'),
    Attack("fills-the-disk", 'with open("MARK", "wb") as file:\n    file.write(bytes(64 << 20))'),
    Attack("makes-a-folder", 'import os\nos.mkdir("MARK")'),
    Attack("makes-a-link", 'import os\nos.symlink("SECRET", "MARK")'),
    Attack("makes-a-fifo", 'import os\nos.mkfifo("MARK")'),
    Attack("reads-its-environment-in-proc", 'return open("/proc/self/environ").read()'),
    Attack("reads-its-parents-environment", _fires("open(f'/proc/{os.getppid()}/environ').read()", "import os")),
    Attack("reads-its-command-line", 'return open("/proc/self/cmdline").read()'),
    Attack("reads-its-memory", _fires('open("/proc/self/mem", "rb")')),
)  # fmt: skip
_KNOWN = (
    Attack("reads-environment", 'import os\nreturn os.environ.get("TOKEN", "-")'),
    Attack("reads-leaked-environment", 'import re\nreturn re.enum.sys.modules["os"].environ.get("TOKEN")', quiet=True),
    Attack("reads-first-environment", 'import posix\nreturn posix.environ.get(b"TOKEN", b"").decode()'),
    Attack("reads-environment-in-c", f"{_C}libc.getenv.restype = ctypes.c_char_p\nreturn str(libc.getenv(b'TOKEN'))"),
    Attack("reads-arguments", 'import re\nreturn repr(re.enum.sys.argv + re.enum.sys.orig_argv)', quiet=True),
    Attack("walks-all-objects", """
import gc
for one in gc.get_objects():
    if type(one).__name__ == "_Environ":
        return one.get("TOKEN", "-")
return "-"
"""),
    Attack("walks-the-frames", """
import re
frame = re.enum.sys._getframe()
while frame is not None:
    for said in [*frame.f_locals.values(), *frame.f_globals.values()]:
        if isinstance(said, str) and said.startswith("FIRED"):
            return said
    frame = frame.f_back
return "-"
""", quiet=True),
)  # fmt: skip
_SOCKETS = (
    Attack(
        "opens-a-socket", 'import socket\nsocket.create_connection(("127.0.0.1", PORT), timeout=2)'
    ),
    Attack(
        "opens-a-raw-socket",
        """
import _socket
s = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
s.connect(("127.0.0.1", PORT))
""",
    ),
    Attack("opens-a-socket-in-c", _fires("libc.socket(2, 1, 0) >= 0", _C)),
    Attack("makes-a-pair", _fires("socket.socketpair()", "import socket")),
    Attack("listens", _fires("socket.create_server(('127.0.0.1', 0))", "import socket")),
    Attack("asks-for-a-name", _fires("socket.getaddrinfo('localhost', 80)", "import socket")),
)
_PROCESSES = (
    Attack("forks", f"""
import os
pid = os.fork()
if pid == 0:
    os._exit(7)
{_fires("os.waitpid(pid, 0)[1] >> 8 == 7")}
"""),
    Attack("forks-in-c", _fires("pid > 0", _C + "pid = libc.fork()\nif pid == 0:\n    libc._exit(7)")),
    Attack("executes", 'import os\nos.execv("/bin/sh", ["sh", "-c", "echo FIRED-9c""1"])'),
    Attack("runs-a-command", 'import os\nos.system("touch MARK")'),
    Attack("opens-a-command", 'import os\nos.popen("touch MARK").read()'),
    Attack("spawns", 'import os\nos.waitpid(os.posix_spawn("/usr/bin/touch", ["touch", "MARK"], {}), 0)'),
    Attack("runs-a-subprocess", 'import subprocess\nsubprocess.run(["touch", "MARK"])'),
    Attack("leaves-a-thread", f"""
import _thread, time
seen = []
_thread.start_new_thread(lambda: seen.append({_F}), ())
for _ in range(1000):
    if not seen:
        time.sleep(0.01)
return "".join(seen)
"""),
    Attack("signals-the-parent", "import os, signal\nos.kill(os.getppid(), signal.SIGUSR1)"),
    Attack("signals-the-test", "import os, signal\nos.kill(HERE, signal.SIGUSR1)"),
    Attack("signals-in-c", f"{_C}libc.kill(HERE, 10)"),
    Attack("queues-a-signal", f"{_C}libc.sigqueue(HERE, 10, None)"),
    Attack("opens-a-process", _fires("os.pidfd_open(HERE)", "import os")),
    Attack("swallows-sigterm", f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{_fires("signal.getsignal(signal.SIGTERM) is signal.SIG_IGN")}
"""),
    Attack("sets-an-alarm", _fires("signal.getitimer(0)[0]", "import signal\nsignal.setitimer(0, 99)")),
)  # fmt: skip
_KERNEL = (
    Attack("calls-c", f"{_C}data = ctypes.create_string_buffer(64)\n"
        'libc.read(libc.open(b"SECRET", 0), data, 64)\nreturn data.value.decode()'),
    Attack("sets-a-flag-of-its-process", _fires("libc.prctl(15, b'x', 0, 0, 0) == 0", _C)),
    Attack("forgets-to-die-with-its-parent", _fires("libc.prctl(1, 0, 0, 0, 0) == 0", _C)),
    Attack("asks-to-be-traced", _fires("libc.ptrace(0, 0, None, None) == 0", _C)),
    Attack("makes-code", f"{_C}libc.mmap.restype = ctypes.c_void_p\n"
        + _fires("libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, 0) not in (None, 2**64 - 1)")),
    Attack("makes-a-map", _fires("mmap.mmap(-1, 4096)", "import mmap")),
    Attack("makes-a-file-in-memory", _fires("os.memfd_create('x') >= 0", "import os")),
    Attack("makes-an-event", _fires("os.eventfd(0) >= 0", "import os")),
    Attack("makes-a-pipe", _fires("os.pipe()", "import os")),
    Attack("shares-memory", _fires("at >= 0", _C + "at = libc.shmget(0, 4096, 0o1600)\nlibc.shmctl(at, 0, None)")),
    Attack("reads-another-process", f"""{_C}
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
data, into = ctypes.create_string_buffer(({_F}).encode()), ctypes.create_string_buffer(9)
there, here = Part(ctypes.addressof(data), 9), Part(ctypes.addressof(into), 9)
libc.process_vm_readv(libc.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
return into.raw.decode()
"""),
    Attack("turns-the-limits-up", f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
{_fires("resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)")}
"""),
    Attack("turns-the-memory-up", f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
{_fires("resource.getrlimit(resource.RLIMIT_AS) == (1 << 40, 1 << 40)")}
"""),
    Attack("turns-its-priority-down", _fires("os.nice(1) > 0", "import os")),
    Attack("closes-descriptors", "import os\nos.closerange(1, 99)", stops=True, quiet=True),
)  # fmt: skip
_AMOUNTS = (
    Attack("takes-memory", _fires("len(bytes(4 << 30))")),
    Attack("takes-memory-in-pieces", _fires(
        "1", "kept = []\nfor _ in range(500):\n    kept.append(bytes(16 << 20))")),
    Attack("multiplies-text", _fires("len('x' * (700 << 20))")),
    Attack("unpacks-a-bomb", "import zlib\n" + _fires("zlib.decompress(zlib.compress(bytes(1 << 28), 1))")),
    Attack("recurses", "def down(n):\n    return [down(n + 1)]\ndown(0)", stops=True),
    Attack("overflows-the-stack", """
import re
re.enum.sys.setrecursionlimit(10**9)
def down(n):
    return max([n], key=down)
down(0)
""", stops=True),
    Attack("answers-too-much", f"return ({_F}) * 1_000_000"),
    Attack("floods-the-reply-pipe", f"""
import os
while True:
    for fd in (4, 1):
        try:
            os.write(fd, ({_F}).encode() * 1000)
        except OSError:
            pass
"""),
    Attack("floods-stderr", f"""
import re
os = re.enum.sys.modules["os"]
while True:
    for fd in (2, 1):
        try:
            os.write(fd, ({_F}).encode() * 1000)
        except OSError:
            pass
"""),
    Attack("forges-a-reply", f"""
import re
os = re.enum.sys.modules["os"]
reply = ('{{"id": 1, "ok": true, "value": "%s"}}' % ({_F})).encode()
for fd in (1, 4):
    try:
        os.write(fd, len(reply).to_bytes(4, "big") + reply)
    except OSError:
        pass
"""),
)  # fmt: skip
_TIME = (
    Attack("loops", "while True:\n    pass"),
    Attack(
        "loops-and-catches",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ),
    Attack("backtracks", 'import re\nre.search(r"(a+)+$", "a" * 60 + "b")'),
    Attack("searches-in-squares", 'import re\nre.search(r"\\s+$", " " * 200_000 + "b")'),
    Attack("sleeps", 'import re\nre.enum.sys.modules["time"].sleep(3600)'),
    Attack("collides-hashes", "len({n * (2**61 - 1) for n in range(60_000)})"),
    Attack("makes-a-number", "len(bin(9 ** 9 ** 8))"),
    Attack(
        "writes-a-number",
        "import re\nre.enum.sys.set_int_max_str_digits(0)\nlen(str(7 ** 5_000_000))",
    ),
    Attack(
        "fails-slowly",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    ),
)
_ENDS = (
    Attack("exits", "import sys\nsys.exit(0)"),
    Attack("raises-an-exit", "raise SystemExit(0)"),
    Attack("exits-at-once", "import os\nos._exit(0)"),
    Attack("exits-through-leaked-os", 'import re\nre.enum.sys.modules["os"]._exit(0)'),
    Attack("interrupts", "raise KeyboardInterrupt"),
    Attack("aborts", "import os\nos.abort()"),
    Attack("runs-broken-code", "f = lambda: 0\nf.__code__ = f.__code__.replace(co_consts=())\nf()"),
    Attack("faults", "import ctypes\nctypes.string_at(1)"),
    Attack("faults-on-purpose", "import faulthandler\nfaulthandler._sigsegv()"),
)
_LATER = (
    Attack("acts-at-exit", 'import atexit\natexit.register(lambda: open("MARK", "w"))'),
    Attack("acts-when-collected", """
import re
class Late:
    def __del__(self, open=re.enum.bltns.open):
        open("MARK", "w")
Late()
"""),
    Attack("unpickles", 'import pickle\npickle.loads(b"cos\\nsystem\\n(S\'touch MARK\'\\ntR.")'),
    Attack("unmarshals-code", """
import marshal, types
code = marshal.loads(marshal.dumps(compile("open('MARK', 'w')", "x", "exec")))
exec(code)
"""),
    Attack("imports-by-hand", """
import _imp, types
posix = _imp.create_builtin(types.SimpleNamespace(name="posix", origin="built-in"))
return posix.read(posix.open("SECRET", 0), 99).decode()
"""),
    Attack("traces", """
import re
sys = re.enum.sys
seen = []
def see(frame, event, arg):
    if "open" in frame.f_builtins:
        seen.append(frame.f_builtins["open"]("SECRET").read())
sys.settrace(see)
(lambda: 0)()
sys.settrace(None)
return "".join(seen)
"""),
    Attack("registers-a-codec", """
import codecs
codecs.register(lambda name: open("MARK", "w"))
"x".encode("no-such-codec")
"""),
)  # fmt: skip

ATTACKS = (
    *_FILES, *_KNOWN, *_SOCKETS, *_PROCESSES, *_KERNEL, *_AMOUNTS, *_LATER,
    *(Attack(one.name, one.body, stops=True, slow=True) for one in _TIME),
    *(Attack(one.name, one.body, stops=True) for one in _ENDS),
)  # fmt: skip
