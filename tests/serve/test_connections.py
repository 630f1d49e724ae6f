"""Connections that are slow, idle or many: they end, and others are served meanwhile."""

import contextlib
import http.client
import json
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relu import PROBLEM
from serving import FakeBench, Serve, Served

pytest.importorskip("fastapi")

MOST = 16
HEAD = b"POST /v1/judgements?wait=0 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
ANSWER = {"submission": "an answer", "problem": "19_ReLU"}


def open_one(served: Served, said: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    with contextlib.suppress(ConnectionError):  # one that the server has ended already is read as ended
        made.sendall(said)
    return made


def until(true: Callable[[], bool]) -> None:
    """Return once it is true."""
    for _ in range(6000):
        if true():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true in a minute")


def is_ended(connection: socket.socket) -> bool:
    """Whether the server has ended it; else it waits for what the server says next."""
    try:
        return connection.recv(1 << 16) == b""
    except ConnectionError:
        return True


def is_left(dripping: socket.socket) -> bool:
    """Whether the server ends it within a minute, in which a byte is sent now and then."""
    dripping.settimeout(0.1)
    for _ in range(600):
        with contextlib.suppress(TimeoutError):
            try:
                dripping.sendall(b"a")
            except ConnectionError:
                return True
            if is_ended(dripping):
                return True
    return False


@contextlib.contextmanager
def many(served: Served, number: int, said: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as open_ones:
        yield [open_ones.enter_context(open_one(served, said)) for _ in range(number)]


SAID = {
    "nothing": b"",
    "half a head": HEAD,
    "no body": HEAD + b"Content-Length: 100\r\n\r\n",
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n50\r\n{",
    "a request, and half of the next head": b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD,
    "no body for the free route": b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_however_many_connections_wait_for_their_peer_others_are_served(serve: Serve, said: bytes) -> None:
    with serve(most=MOST) as served, many(served, 300, said) as open_ones:
        for _ in range(3):
            assert served.ask("GET", "/health") == (200, {"status": "ok"})
            assert served.ask("POST", "/v1/judgements?wait=60", ANSWER)[1]["state"] == "done"
        assert len(served.connections) <= MOST
        for one in open_ones[: 300 - MOST]:  # those that were waited for longest
            while not is_ended(one):
                pass


def test_connections_that_were_used_make_room_for_new_ones(serve: Serve) -> None:
    with serve(most=MOST) as served, contextlib.ExitStack() as open_ones:
        for _ in range(100):
            connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
            open_ones.callback(connection.close)
            connection.request("GET", "/health")
            assert connection.getresponse().read() == b'{"status":"ok"}'
        assert len(served.connections) <= MOST


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_a_peer_that_keeps_the_server_waiting_is_left_though_it_sends_a_byte_now_and_then(
    serve: Serve, said: bytes
) -> None:
    with serve(peer_s=0.3, body_s=0.3) as served, open_one(served, said) as dripping:
        assert is_left(dripping)
        assert not served.connections


def test_a_refused_caller_that_goes_on_with_its_body_is_left(serve: Serve) -> None:
    with serve(token="secret", peer_s=2.0) as served:
        with open_one(served, HEAD + b"Content-Length: 1000000\r\n\r\n") as dripping:
            assert dripping.recv(1 << 16).startswith(b"HTTP/1.1 401")
            assert is_left(dripping)
        assert not served.connections


def test_a_caller_that_does_not_read_its_answer_is_left(serve: Serve, problems: Path) -> None:
    (problems / "level1/20_Large.py").write_text(f"{PROBLEM}#{'x' * (16 << 20)}\n")
    with serve(peer_s=0.3) as served, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(b"GET /v1/problems/level1/20_Large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert select.select([connection], [], [], 60)[0], "nothing is answered"
        until(lambda: not served.connections)


def asked_for_events(served: Served, id: str) -> tuple[socket.socket, bytes]:
    connection = open_one(served, f"GET /v1/judgements/{id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection, connection.recv(1 << 16)


def test_streams_and_waits_leave_room_for_what_does_not_wait(serve: Serve, bench: FakeBench) -> None:
    with serve(most=MOST) as served, contextlib.ExitStack() as open_ones:
        id = served.ask("POST", "/v1/judgements", {**ANSWER, "submission": "hold"})[1]["id"]
        assert bench.holding.wait(30)
        for _ in range(MOST // 2):
            connection, said = asked_for_events(served, id)
            open_ones.enter_context(connection)
            assert said.startswith(b"HTTP/1.1 200")
        with many(served, 100, b""):
            for path in (f"/v1/judgements/{id}/events", f"/v1/judgements/{id}?wait=60"):
                status, found = served.ask("GET", path)
                assert (status, "wait" in found["detail"], served.last_headers["retry-after"]) == (503, True, "5")
            assert served.ask("GET", "/health")[0] == 200
            assert served.ask("GET", f"/v1/judgements/{id}")[0] == 202
            assert served.ask("POST", "/v1/judgements", ANSWER)[0] == 202
        bench.gate.set()
        until(lambda: served.ask("GET", f"/v1/judgements/{id}?wait=60")[0] == 200)
        assert served.ask("GET", f"/v1/judgements/{id}/events")[0] == 200


def test_callers_that_have_left_wait_no_more(serve: Serve, bench: FakeBench) -> None:
    body = json.dumps({**ANSWER, "submission": "hold"}).encode()
    post = HEAD.replace(b"wait=0", b"wait=600") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with serve(most=8) as served:
        id = served.ask("POST", "/v1/judgements", json.loads(body))[1]["id"]
        assert bench.holding.wait(30)
        look = f"GET /v1/judgements/{id}?wait=600 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        for said in (post, look):
            with many(served, 4, said):
                until(lambda: served.waiting(id) == 4)
                assert served.ask("GET", f"/v1/judgements/{id}?wait=0.01")[0] == 503
            until(lambda: served.waiting(id) == 0)
            assert served.ask("GET", f"/v1/judgements/{id}?wait=0.01")[0] == 202


def test_bodies_that_are_held_are_bounded_together(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.serve.guard.LARGEST_TOGETHER", 3000)
    with serve() as served:
        assert served.ask("POST", "/v1/judgements", ANSWER)[0] in (200, 202)
        with many(served, 3, HEAD + b"Content-Length: 1000\r\n\r\n"):
            until(lambda: served.ask("POST", "/v1/judgements", ANSWER)[0] == 503)
            assert served.last_headers["retry-after"] == "5"
            assert served.ask("GET", "/health")[0] == 200
        until(lambda: served.ask("POST", "/v1/judgements", ANSWER)[0] != 503)


def test_the_limit_on_descriptors_is_raised_as_far_as_it_may_be_and_a_quarter_are_connections() -> None:
    code = (
        "import resource\n"
        "from harness.serve.connections import most_connections\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 1000))\n"
        "print(most_connections(), *resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["250", "1000", "1000"]
