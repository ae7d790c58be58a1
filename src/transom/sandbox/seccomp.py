"""System-call filters for locked workers and for commands, compiled in the parent.

There are three answers. ALLOW: calls that CPython needs to compute, with the pipes given by number
and no executable memory. EPERM: all other calls, so that probes by the interpreter or libc (files,
terminals, time zones) fail normally and the code's own error has its line. KILL_PROCESS: calls that
no honest code makes (processes, sockets, signals, tracing, kernel interfaces), so that code which
swallows errors still ends as a failure.
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import sys
from typing import Any

from transom.errors import SandboxUnavailable
from transom.sandbox.child import REPLY_FD, REQUEST_FD

_PROCESSORS = ("x86_64", "aarch64")
_ALLOWED = (
    "brk",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "exit",
    "exit_group",
    "futex",
    "getpid",
    "getrandom",
    "gettid",
    "gettimeofday",
    "madvise",
    "mremap",
    "munmap",
    "nanosleep",
    "restart_syscall",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_yield",
    "sigaltstack",
    "time",
)
_DEADLY = (
    "accept",
    "accept4",
    "bind",
    "bpf",
    "clone",
    "clone3",
    "connect",
    "execve",
    "execveat",
    "fork",
    "init_module",
    "io_setup",
    "io_uring_enter",
    "io_uring_setup",
    "kexec_load",
    "keyctl",
    "kill",
    "listen",
    "memfd_create",
    "mount",
    "open_by_handle_at",
    "perf_event_open",
    "pidfd_getfd",
    "pidfd_open",
    "pidfd_send_signal",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "rt_sigqueueinfo",
    "seccomp",
    "sendmsg",
    "sendto",
    "setns",
    "socket",
    "socketpair",
    "unshare",
    "userfaultfd",
    "vfork",
)
# `socketpair` stays allowed: it connects to nothing outside, and event loops need it.
_CLOSED_TO_COMMANDS = (
    "socket",
    "bpf",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_load",
    "keyctl",
    "add_key",
    "request_key",
    "mount",
    "umount2",
    "pivot_root",
    "setns",
    "unshare",
    "open_by_handle_at",
    "perf_event_open",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "userfaultfd",
    "init_module",
    "finit_module",
    "pidfd_getfd",
)
_PROT_EXEC = 4


@functools.cache
def filter_program() -> bytes:
    """Return the worker's filter as BPF instructions, 8 bytes each.

    Raises:
        SandboxUnavailable: not Linux, an unknown processor, or no libseccomp; `what` names which.
    """
    sc = _library()
    import resource  # noqa: PLC0415  not on Windows

    rules = sc.SyscallFilter(sc.ERRNO(errno.EPERM))
    for name in _existing(sc, _ALLOWED):
        rules.add_rule(sc.ALLOW, name)
    for name in _existing(sc, _DEADLY):
        rules.add_rule(sc.KILL_PROCESS, name)
    rules.add_rule(sc.ALLOW, "read", sc.Arg(0, sc.EQ, REQUEST_FD))
    for fd in (2, REPLY_FD):
        rules.add_rule(sc.ALLOW, "write", sc.Arg(0, sc.EQ, fd))
    for name in ("mmap", "mprotect"):
        rules.add_rule(sc.ALLOW, name, sc.Arg(2, sc.MASKED_EQ, _PROT_EXEC, 0))
    # The worker moves its soft CPU limit before each call; no other limit, no other process.
    rules.add_rule(
        sc.ALLOW, "prlimit64", sc.Arg(0, sc.EQ, 0), sc.Arg(1, sc.EQ, resource.RLIMIT_CPU)
    )
    return _exported(rules)


@functools.cache
def command_filter() -> bytes:
    """Return the filter for commands of a project: everything but sockets and dangerous kernel
    interfaces.

    Raises:
        SandboxUnavailable: as `filter_program`.
    """
    sc = _library()
    rules = sc.SyscallFilter(sc.ALLOW)
    for name in _existing(sc, _CLOSED_TO_COMMANDS):
        rules.add_rule(sc.ERRNO(errno.EPERM), name)
    return _exported(rules)


def _library() -> Any:
    if sys.platform != "linux":
        raise SandboxUnavailable(f"{sys.platform} has no seccomp")
    if platform.machine() not in _PROCESSORS:
        raise SandboxUnavailable(
            f"unknown processor {platform.machine()}; known: {', '.join(_PROCESSORS)}"
        )
    try:
        # This fails if libseccomp is not installed.
        import pyseccomp as sc  # type: ignore[import-untyped]  # noqa: PLC0415
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxUnavailable(
            f"libseccomp cannot be loaded: {error}",
            hint="run as root: apt-get install -y libseccomp2",
        ) from error
    return sc


def _exported(rules: Any) -> bytes:
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _existing(sc: Any, names: tuple[str, ...]) -> list[str]:
    """Return the names that this processor has (`time` and `fork` are x86 calls)."""
    resolve, arch = sc.resolve_syscall, sc.system_arch()
    found = []
    for name in names:
        try:
            if resolve(arch, name) >= 0:
                found.append(name)
        except ValueError:
            continue
    return found
