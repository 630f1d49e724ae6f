"""A scripted server and one model's worth of asking, without any process."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from questions import KEY, SHA, Listener, question
from scripted_server import Act, Script, Server

from harness.generate import asking as asking_module
from harness.generate.asking import Ask, Asking
from harness.generate.asking import Server as Address
from harness.generate.folder import open_generations
from harness.schema.generation import GenerationSettings


@pytest.fixture
def serve() -> Iterator[Callable]:
    """Starts scripted servers that end with the test."""
    servers = []

    def start(script: Script | Act) -> Server:
        server = Server(script if callable(script) else lambda request: script)
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits does so for milliseconds."""
    monkeypatch.setattr(asking_module, "_FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(asking_module, "_LONGEST_WAIT_S", 0.01)


@pytest.fixture
def ask_all(tmp_path: Path, quick: None) -> Callable[..., Listener]:
    """Asks a server for everything given and tells what came of it."""

    def run(server, *asks: Ask, deadline_s: float = 10.0, concurrency: int = 8, url: str = "", **settings) -> Listener:
        listener = Listener()
        chosen = GenerationSettings.model_validate({"model": "m", "templates_sha256": SHA} | settings)
        address = Address(url or server.url, KEY, deadline_s)
        with open_generations(tmp_path / "generations", chosen) as folder:
            asking = Asking(chosen, address, folder, concurrency=concurrency, watcher=listener)
            for ask in asks or (question(),):
                asking.put(ask)
            asking.end()
            asyncio.run(asking.run())
        return listener

    return run
