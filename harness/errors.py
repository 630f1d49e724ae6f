"""What can go wrong with us. A candidate's failure is never one of these: it is data, a verdict.

    HarnessError            every fault of ours or of the machine; the command line exits with `exit_status`
    ├─ InputError      (2)  the user gave something unusable: a missing file, an unknown problem, a bad option
    │  ├─ ProblemError      a problem file that cannot be used
    │  └─ StoreError        a run folder that cannot be read or may not be written
    ├─ BusyError       (3)  so many wait already as may
    ├─ GivenUpError    (3)  no caller waits for it any more: cancelled
    │  └─ DeadlineError     the caller's deadline was over before there was a verdict
    └─ MachineError    (3)  this machine cannot do it: no compiler, no device, a full disk, a process of ours that died
       ├─ ToolchainError    a compiler is missing or broken
       ├─ SandboxError      a worker could not be started or confined as asked
       └─ DeviceError       the device, its driver or its memory failed on the judge's side

Each message is one clear sentence that says what to do. `ProtocolError` stands apart: it is what the wire raises
when an untrusted peer breaks the protocol, and is always turned into a `failed` verdict with the reason `protocol`.
"""


class HarnessError(Exception):
    """Base of every fault that is ours, the user's or the machine's, never the candidate's."""

    exit_status = 3


class InputError(HarnessError):
    """Something the user gave cannot be used."""

    exit_status = 2


class ProblemError(InputError):
    """A problem file that cannot be used as one."""


class StoreError(InputError):
    """A run folder that cannot be read, or may not be written."""


class BusyError(HarnessError):
    """So many wait already as may."""


class GivenUpError(HarnessError):
    """No caller waits for it any more."""


class DeadlineError(GivenUpError):
    """The caller's deadline was over before there was a verdict."""


class MachineError(HarnessError):
    """This machine cannot do what was asked."""


class ToolchainError(MachineError):
    """A compiler is missing or broken."""


class SandboxError(MachineError):
    """A worker could not be started or confined as asked."""


class DeviceError(MachineError):
    """The device, its driver or its memory failed on the judge's side."""


class ProtocolError(Exception):
    """An untrusted peer broke the protocol of the wire."""
