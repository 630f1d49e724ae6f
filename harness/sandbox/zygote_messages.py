"""What zygote, supervisors and owners say to each other. All of them are ours; candidate code never sees these."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.sandbox.policy import Exit, Policy, Tier
from harness.schema import Frozen


class Confinement(Frozen):
    """Which layers hold, which this machine refuses (each with the reason), and the tier that they add up to.

    "full": namespaces and an allow-list root beside everything else. "basic": Landlock, seccomp, limits. "none":
    not even those.
    """

    tier: Tier
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class SpawnRequest(Frozen):
    """Owner to zygote, with the control socket and the process's own descriptors. `policy` None: a trusted process."""

    kind: Literal["spawn"] = "spawn"
    entry: str
    policy: Policy | None = None


class ConnectRequest(Frozen):
    """Owner to zygote, with a socket that is to be served like the sender's own."""

    kind: Literal["connect"] = "connect"


class Ready(Frozen):
    """Zygote to its starter: everything is imported; this is what workers will get."""

    kind: Literal["ready"] = "ready"
    confinement: Confinement


class Started(Frozen):
    """Supervisor to owner: the process is about to call its entry. `pid` is the host's, `group` its cgroup's folder."""

    kind: Literal["started"] = "started"
    pid: int
    confinement: Confinement
    group: str | None = None


class Refused(Frozen):
    """Zygote or supervisor to owner: it could not be done."""

    kind: Literal["refused"] = "refused"
    detail: str


class Ended(Frozen):
    """Supervisor to owner: everything of the process is gone."""

    kind: Literal["ended"] = "ended"
    exit: Exit


class Confined(Frozen):
    """The process, before it runs anything of the candidate, to its supervisor."""

    kind: Literal["confined"] = "confined"
    layers: tuple[str, ...]
    missing: tuple[str, ...]


class Status(Frozen):
    """Init of a pid namespace to the supervisor: the raw wait status of the process."""

    kind: Literal["status"] = "status"
    status: int


KILL = b"kill"

REQUEST: TypeAdapter[SpawnRequest | ConnectRequest] = TypeAdapter(
    Annotated[SpawnRequest | ConnectRequest, Field(discriminator="kind")]
)
REPLY: TypeAdapter[Ready | Started | Refused | Ended] = TypeAdapter(
    Annotated[Ready | Started | Refused | Ended, Field(discriminator="kind")]
)
REPORT: TypeAdapter[Confined | Refused | Status] = TypeAdapter(
    Annotated[Confined | Refused | Status, Field(discriminator="kind")]
)
