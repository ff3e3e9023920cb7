"""Runs programs that nobody trusts, within limits."""

import collections
import os
import resource
import signal
import subprocess
import tempfile
import threading

SHOWN_BYTES = 1 << 20  # of what a program prints

# Seconds of CPU time of each process and of a whole run; bytes of a file that it may write, and of memory.
Limits = collections.namedtuple("Limits", "cpu_seconds wall_seconds file_bytes memory_bytes")
RUN = Limits(30, 240, 32 << 20, resource.RLIM_INFINITY)  # a machine may be busy

Outcome = collections.namedtuple("Outcome", "status out err")

_lock = threading.Lock()
_running = set()
_stopped = False


class Stopped(Exception):
    """stop() has been called."""


def _limit(limits):
    """No higher than what the caller's own limits allow: a machine of a school may have some."""
    for what, most in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        allowed = resource.getrlimit(what)[1]
        if allowed != resource.RLIM_INFINITY and (most == resource.RLIM_INFINITY or most > allowed):
            most = allowed
        resource.setrlimit(what, (most, most))


def _start(command, folder, environment, limits, out, err):
    """In a process group of its own, so that all of it can be ended."""
    with _lock:
        if _stopped:
            raise Stopped
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=lambda: _limit(limits),
            start_new_session=True,
        )
        _running.add(process)
        return process


def _end(process):
    """And all that is left of its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop():
    """Ends everything that runs: each run(), and every later one, raises Stopped."""
    global _stopped
    with _lock:
        _stopped = True
        for process in _running:
            _end(process)


def is_cut(text):
    """Whether a program may have printed more than what is left of it."""
    return len(text.encode()) >= SHOWN_BYTES


def _read(file):
    file.seek(0)
    return file.read(SHOWN_BYTES).decode(errors="replace")


def run(command, folder, environment, limits):
    """Runs a program to its end: a status below 0 is the signal that ended it, SIGXCPU where it took too
    long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = _start(command, folder, environment, limits, out, err)
        try:
            status = process.wait(limits.wall_seconds)
        except subprocess.TimeoutExpired:
            status = -signal.SIGXCPU
        finally:
            _end(process)
            process.wait()
            with _lock:
                _running.discard(process)
        if _stopped:
            raise Stopped
        return Outcome(status, _read(out), _read(err))
