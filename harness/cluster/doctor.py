"""Every node's own `harness doctor`, as it is there."""

import subprocess
import sys

from harness.errors import MachineError

PATIENCE_S = 180.0
"""What all nodes are given together: a trial worker starts on each in seconds, a busy one takes longer."""


def own_report() -> str:
    """What `harness doctor --json` prints on this machine. Raises MachineError where it prints nothing."""
    ran = subprocess.run([sys.executable, "-m", "harness", "doctor", "--json"], capture_output=True, text=True)
    if not ran.stdout.strip():
        last = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MachineError(f"harness doctor failed there: {last}")
    return ran.stdout


def ask_nodes(address: str) -> list[tuple[str, str | MachineError]]:
    """Each node's name, and its report as JSON or why there is none. Raises InputError, MachineError as `join` does."""
    from harness.cluster.ray_cluster import ask_every_node  # loads ray

    return ask_every_node(address, own_report, seconds=PATIENCE_S)
