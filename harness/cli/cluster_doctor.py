"""`harness doctor --ray`: what every node of a cluster can do, and how they differ."""

import json
from collections.abc import Iterator, Mapping

import click

from harness.cli.diagnosis import Diagnosis, show
from harness.errors import MachineError

_THEIR_OWN = frozenset({"build cache", "disk", "memory", "fast builds"})
"""What no two machines have alike, and need not: of these it is only asked whether they are in order."""


def ask_cluster(address: str, *, as_json: bool) -> bool:
    """Print what each node said; whether candidates can be judged on all of them."""
    from harness.cli.console import output_console, progress_console
    from harness.cluster.doctor import ask_nodes

    with progress_console().status("asking every node"):
        answers = ask_nodes(address)
    nodes = {name: _read(answer) for name, answer in _named(answers)}
    differing = list(differences({name: said for name, said in nodes.items() if isinstance(said, Diagnosis)}))
    if as_json:
        told = {
            name: said.model_dump(mode="json") if isinstance(said, Diagnosis) else {"error": str(said)}
            for name, said in nodes.items()
        }
        click.echo(json.dumps({"nodes": told, "differences": differing}, indent=2))
    else:
        console = output_console()
        for name, said in nodes.items():
            console.print(f"{name}:")
            console.print(show(said) if isinstance(said, Diagnosis) else f"no report: {said}")
            console.print()
        console.print("\n".join(differing) if differing else "the nodes do not differ in what decides a result")
    return all(isinstance(said, Diagnosis) and said.usable for said in nodes.values())


def _named(answers: list[tuple[str, str | MachineError]]) -> Iterator[tuple[str, str | MachineError]]:
    """Each under a name of its own: several nodes may be one host."""
    seen: dict[str, int] = {}
    for name, answer in answers:
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}-{seen[name]}"), answer


def _read(answer: str | MachineError) -> Diagnosis | MachineError:
    return answer if isinstance(answer, MachineError) else Diagnosis.model_validate_json(answer)


def differences(nodes: Mapping[str, Diagnosis]) -> Iterator[str]:
    """A line for each thing that is not the same on all nodes: what it is, and where it is what."""
    found: dict[str, dict[str, list[str]]] = {}
    for node, diagnosis in nodes.items():
        for finding in diagnosis.findings:
            said = finding.state if finding.name in _THEIR_OWN else finding.found
            found.setdefault(finding.name, {}).setdefault(said, []).append(node)
    for name, said_by in found.items():
        missing = [node for node in nodes if not any(node in those for those in said_by.values())]
        if missing and name not in _THEIR_OWN:
            said_by["not looked at"] = missing
        if len(said_by) > 1:
            yield f"{name} differs: " + "; ".join(f"{', '.join(those)}: {said}" for said, those in said_by.items())
