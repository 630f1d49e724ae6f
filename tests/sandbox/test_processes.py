"""What is read of /proc of a process that chose its own names."""

import ctypes
import os
import signal

from harness.sandbox import processes

PR_SET_NAME = 15


def test_a_name_of_any_bytes_hides_no_process() -> None:
    for name in (b"\xff\xfe", b"a) S 1 1", b") Z 1 (", b"\n\n", b"", b"\xc3\x28"):
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)
            os.write(told, b"x")
            signal.pause()
            os._exit(0)
        try:
            assert os.read(ready, 1) == b"x"
            assert processes.parent(pid) == os.getpid()
            assert pid in processes.descendants(os.getpid())
            assert processes.usage(pid) is not None
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(ready)
            os.close(told)
