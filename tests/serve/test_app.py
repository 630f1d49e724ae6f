"""The server over a bench that needs no device, asked over HTTP: routes, refusals, many callers at once."""

import asyncio
import json
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import FakeBench, Serve, Served, ask, ended

from harness.client import NoVerdict, judge, judge_async, judge_many
from harness.errors import InputError

pytest.importorskip("fastapi")

ANSWER = {"submission": "an answer", "problem": "19_ReLU"}


def post(served: Served, *, wait: float = 60, **body: Any) -> tuple[int, Any]:
    return served.ask("POST", f"/v1/judgements?wait={wait}", {**ANSWER, **body})


# Judgements


def test_a_judgement_that_is_waited_for_comes_with_its_record(serve: Serve) -> None:
    with serve() as served:
        status, found = post(served, submission="correct", tag="step 3")
    assert (status, found["state"], found["tag"], found["reason"]) == (200, "done", "step 3", None)
    assert found["summary"] == {
        "kind": "correct",
        "compiled": True,
        "correct": True,
        "speedup": {"value": 2.0, "low": 1.9, "high": 2.1},
        "detail": "",
        "flags": [],
    }
    assert found["record"]["submission"]["path"] == found["id"]
    assert found["record"]["verdict"]["kind"] == "correct"


def test_one_that_is_not_is_found_under_its_location(serve: Serve, bench: FakeBench) -> None:
    with serve() as served:
        status, found = post(served, submission="hold", wait=0)
        where = served.last_headers["location"]
        assert (status, found["state"] in ("queued", "running"), found["summary"]) == (202, True, None)
        assert served.ask("GET", f"{where}?wait=0.05")[0] == 202
        bench.gate.set()
        status, later = served.ask("GET", f"{where}?wait=60")
        assert (status, later["state"], later["id"]) == (200, "done", found["id"])
        assert served.ask("GET", "/v1/judgements/j0")[0] == 404


def test_a_batch_is_taken_one_by_one(serve: Serve) -> None:
    with serve() as served:
        asked = [
            ANSWER,
            {**ANSWER, "problem": "none"},
            {"submission": "x"},
            "nonsense",
            {**ANSWER, "isolation": "none"},
        ]
        status, found = served.ask("POST", "/v1/judgements:batch", asked)
        assert status == 200
        assert [one.get("status") for one in found] == [None, 422, 422, 422, 422]
        assert "there is no problem 'none'" in found[1]["error"]
        assert ended(served.engine, found[0]["id"]).state == "done"


def test_those_that_wait_for_what_is_not_begun_are_sent_away_when_it_drains(serve: Serve, bench: FakeBench) -> None:
    with serve() as served, ThreadPoolExecutor(9) as threads:
        held = threads.submit(post, served, submission="hold")
        assert bench.holding.wait(30)
        waits = [
            threads.submit(served.ask, "POST", "/v1/judgements?wait=60", {**ANSWER, "submission": f"a {n}"})
            for n in range(8)
        ]
        while served.engine.jobs.count("queued") + served.engine.jobs.count("running") < 9:
            time.sleep(0.01)
        served.engine.stop()
        served.engine.watcher.changed("")
        bench.gate.set()
        assert held.result()[0] == 200
        assert {one.result()[0] for one in waits} == {503}
        assert served.engine.jobs.count("queued") == 8


def test_cancelling_is_told_to_those_that_wait(serve: Serve, bench: FakeBench) -> None:
    with serve() as served, ThreadPoolExecutor(1) as threads:
        post(served, submission="hold", wait=0)
        assert bench.holding.wait(30)
        ids = [post(served, submission=f"answer {n}", wait=0)[1]["id"] for n in range(6)]
        waits = threads.submit(served.ask, "GET", f"/v1/judgements/{ids[5]}?wait=60")
        status, found = served.ask("DELETE", f"/v1/judgements/{ids[5]}")
        assert (status, found["state"]) in ((200, "cancelled"), (202, "running"))
        bench.gate.set()
        assert waits.result()[1]["state"] in ("cancelled", "done")
        assert served.ask("DELETE", "/v1/judgements/j0")[0] == 404


def test_what_another_has_asked_for_too_is_not_cancelled(serve: Serve, bench: FakeBench) -> None:
    with serve() as served:
        held, queued = (post(served, submission=text, wait=0)[1]["id"] for text in ("hold", "answer 1"))
        assert bench.holding.wait(30)
        for text, id in (("hold", held), ("answer 1", queued)):
            assert post(served, submission=text, wait=0)[1]["id"] == id
            status, found = served.ask("DELETE", f"/v1/judgements/{id}")
            assert (status, "more than once" in found["detail"]) == (409, True)
        bench.gate.set()
        assert [served.ask("GET", f"/v1/judgements/{id}?wait=60")[1]["state"] for id in (held, queued)] == ["done"] * 2
        assert served.ask("DELETE", f"/v1/judgements/{held}")[0] == 200  # there is nothing to cancel any more


def test_events_tell_states_and_phases_to_the_end(serve: Serve, bench: FakeBench) -> None:
    with serve() as served, ThreadPoolExecutor(1) as threads:
        id = post(served, submission="hold", wait=0)[1]["id"]
        assert bench.holding.wait(30)
        stream = threads.submit(served.ask, "GET", f"/v1/judgements/{id}/events")
        while id not in served.engine.phases:
            time.sleep(0.01)
        bench.gate.set()
        status, text = stream.result()
        assert status == 200
        said = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("data: ")]
        assert json.loads(said[-1])["state"] == "done"
        assert served.ask("GET", "/v1/judgements/j0/events")[0] == 404


def test_whoever_waits_has_a_verdict_though_another_asks_for_fresh_ones_without_a_pause(
    serve: Serve, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve() as served, ThreadPoolExecutor(2) as threads:
        finish = served.engine.jobs.finish

        def finish_and_ask_anew(id: str, **told: Any) -> bool:
            finished = finish(id, **told)
            ask(served.engine, "hold", fresh=True)
            return finished

        monkeypatch.setattr(served.engine.jobs, "finish", finish_and_ask_anew)
        id = post(served, submission="hold", wait=0)[1]["id"]
        waits = [threads.submit(served.ask, "GET", f"/v1/judgements/{id}{how}") for how in ("?wait=5", "/events")]
        assert bench.holding.wait(30)
        while served.waiting(id) < 2:
            time.sleep(0.01)
        bench.gate.set()
        (status, found), (_, events) = (one.result() for one in waits)
        assert (status, found["state"], found["summary"]["kind"]) == (200, "done", "failed")
        assert '"state": "done"' in events
        monkeypatch.undo()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"submission": "x"},
        {**ANSWER, "problem": "/etc/passwd"},
        {**ANSWER, "priority": "now"},
        {**ANSWER, "deadline_s": -1},
        {**ANSWER, "deadline_s": 1e-300},
        {**ANSWER, "deadline_s": "NaN"},
        {**ANSWER, "settings": {"isolation": "none"}},
        {**ANSWER, "settings": {"memory_bytes": 1 << 50}},
        {**ANSWER, "settings": {"timing_s": 1000}},
        {**ANSWER, "settings": {"reject": ["nonsense"]}},
        {**ANSWER, "submission": 3},
        b"{",
        b"\xff\xfe",
        b'{"submission": "\\ud800", "problem": "19_ReLU"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_request_is_refused_and_said(serve: Serve, body: Any) -> None:
    with serve() as served:
        status, found = served.ask("POST", "/v1/judgements", body)
        assert status in (400, 422), found
        assert found["detail"]
        assert served.ask("GET", "/health") == (200, {"status": "ok"})


def test_problems_health_and_metrics(serve: Serve) -> None:
    with serve() as served:
        post(served, submission="correct")
        post(served, submission="problem")
        assert served.ask("GET", "/v1/problems") == (200, ["level1/19_ReLU"])
        status, shown = served.ask("GET", "/v1/problems/level1/19_ReLU")
        assert (status, shown["title"], "class Model" in shown["source"]) == (200, "level1/19_ReLU", True)
        assert [served.ask("GET", f"/v1/problems/{name}")[0] for name in ("none", "../x", "/etc/passwd")] == [404] * 3
        status, text = served.ask("GET", "/metrics")
        assert status == 200
        for line in (
            'harness_verdicts_total{kind="correct"} 1.0',
            'harness_faults_total{kind="job"} 1.0',
            'harness_requests_total{outcome="queued"} 2.0',
            'harness_phase_seconds_total{phase="check"} 0.2',
            "harness_queued_jobs 0.0",
            "harness_healthy 1.0",
        ):
            assert line in text.splitlines()
        served.engine.stop()
        assert served.ask("GET", "/health") == (503, {"status": "draining"})
        status, _ = post(served, submission="new")
        assert (status, served.last_headers["retry-after"]) == (503, "5")
        assert post(served, submission="correct")[0] == 200


# Who may ask


def test_a_wrong_token_is_refused_and_health_is_free(serve: Serve) -> None:
    with serve(token="secret") as served:
        for token in ("", "Secret", "secret2", "s"):
            for method, path in (
                ("POST", "/v1/judgements"),
                ("GET", "/metrics"),
                ("GET", "/v1/problems"),
                ("GET", "/"),
            ):
                assert served.ask(method, path, token=token)[0] == 401
        assert served.last_headers["www-authenticate"] == "Bearer"
        assert served.ask("GET", "/health")[0] == 200
        assert served.ask("POST", "/v1/judgements?wait=60", ANSWER, token="secret")[0] == 200


def test_a_problem_of_the_callers_own_needs_a_token(serve: Serve, problems: Path) -> None:
    source = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        assert post(served, problem=source)[0] == 403
    with serve(token="secret") as served:
        body = {**ANSWER, "problem": source, "settings": {"workload": {"batch_size": 2}}}
        assert served.ask("POST", "/v1/judgements?wait=60", body, token="secret")[0] == 200


def test_pages_of_a_browser_may_not_ask(serve: Serve) -> None:
    """A form needs no permission for text/plain, and a name may be made to mean the loopback address."""
    with serve() as served:
        assert served.ask("POST", "/v1/judgements", ANSWER, **{"Content-Type": "text/plain"})[0] == 415
        assert served.ask("POST", "/v1/judgements", ANSWER, Host="evil.example")[0] == 403
        status, _ = served.ask("OPTIONS", "/v1/judgements", Origin="http://evil.example")
        assert status == 405
        assert not any(name.startswith("access-control") for name in served.last_headers)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    from harness.serve.process import bound

    with pytest.raises(InputError, match="set HARNESS_TOKEN"):
        bound(host, 0, token="")


HOSTILE_PATHS = [
    "/v1/judgements/%00",
    "/v1/judgements/..%2f..%2fetc%2fpasswd",
    "/v1/judgements/" + "a" * 60_000,
    "/v1/judgements/%ff%fe",
    "/v1/judgements/j0'%20OR%20'1'='1",
    "/v1/judgements/%ed%a0%80",
    "/v1/problems/%00",
    "/v1/problems/%2e%2e/%2e%2e/etc/passwd",
    "/v1/problems//etc/passwd",
    "/v1/problems/level1",
    "/v1/problems/" + "a/" * 5_000,
    "/v1/problems/%ed%a0%80",
    "/v1/judgements/j0?wait=nan",
    "/v1/judgements/j0?wait=inf",
    "/v1/judgements/j0?wait=-1",
    "/v1/judgements/j0?wait=1e400",
    "/v1/judgements/j0?wait=1&wait=nan",
    "/v1/judgements/j0/events/x",
    "/kernelgym/status/%00",
    "/kernelgym/results/%ff",
]
ASKED = b'{"submission": "x", "problem": "19_ReLU", '
HOSTILE_BODIES = [
    ASKED + b'"tag": "\\udfff"}',
    b'{"submission": "x", "problem": "\\u0000"}',
    ASKED + b'"deadline_s": NaN}',
    ASKED + b'"deadline_s": 1e999}',
    ASKED + b'"settings": {"timing_s": Infinity}}',
    ASKED + b'"settings": {"reject": ["\\ud800"]}}',
    ASKED + b'"deadline_s": ' + b"9" * 100_000 + b"}",
    b'{"submission": "x", "problem": "../../etc/passwd"}',
    b'{"submission": "x", "problem": "level1/19_ReLU.py/../19_ReLU"}',
    b'{"submission": "x", "problem": "*"}',
    b'{"submission": "x", "problem": "import os\\nos.system(1)"}',
    b'{"a":' * 100_000,
    b'"' + b"\\u0000" * 1000 + b'"',
    b"[" + b"1," * 100_000 + b"1]",
    b"\x00",
    b"",
]


def test_no_request_is_answered_with_a_fault_of_the_server(serve: Serve) -> None:
    with serve() as served:
        for method in ("GET", "DELETE"):
            for path in HOSTILE_PATHS:
                assert served.ask(method, path)[0] < 500, (method, path[:80])
        for path in ("/v1/judgements", "/v1/judgements:batch", "/kernelgym/evaluate"):
            for body in HOSTILE_BODIES:
                assert served.ask("POST", path, body)[0] < 500, (path, body[:80])
        for text in ("\x00", "\u202e\x1b[2J", "=1+1", "<script>", "a" * 1000):
            status, found = post(served, submission=f"correct {text}", tag=text)
            assert (status, found["tag"]) == (200, text)
        assert served.ask("GET", "/health") == (200, {"status": "ok"})


# Bodies that are too much


def raw(served: Served, head: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    lines = ["POST /v1/judgements HTTP/1.1", "Host: localhost", "Content-Type: application/json", head, "", ""]
    made.sendall("\r\n".join(lines).encode())
    return made


def status_of(connection: socket.socket) -> int:
    answer = b""
    while b"\r\n" not in answer:
        more = connection.recv(4096)
        if not more:
            break
        answer += more
    return int(answer.split()[1])


def test_a_body_of_ten_megabytes_is_refused_before_it_is_read(serve: Serve) -> None:
    with serve() as served, raw(served, "Content-Length: 10000000") as connection:
        assert status_of(connection) == 413
        assert post(served)[0] == 200


def test_a_chunked_body_is_refused_as_soon_as_it_is_too_large(serve: Serve) -> None:
    with serve() as served, raw(served, "Transfer-Encoding: chunked") as connection:
        for _ in range(20):
            try:
                connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            except OSError:
                break
        assert status_of(connection) == 413
        assert post(served)[0] == 200


def test_slow_bodies_are_ended_while_others_are_served(serve: Serve) -> None:
    with serve(body_s=0.5) as served:
        slow = [raw(served, "Content-Length: 1000") for _ in range(20)]
        assert post(served)[0] == 200
        assert {status_of(connection) for connection in slow} == {408}
        for connection in slow:
            connection.close()


# Many callers


def test_64_clients_get_the_verdicts_of_their_own_answers_though_many_are_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.client._pause", lambda response, tries: random.uniform(0.01, 0.05))
    with serve(most_queued=8) as served:
        tasks = [(f"answer {number} of many", "19_ReLU") for number in range(300)]
        found = dict(judge_many(tasks, concurrency=64, url=served.url))
        refused = served.ask("GET", "/metrics")[1]
    assert sorted(found) == list(range(300))
    wrong = [n for n, answer in found.items() if answer["summary"]["detail"] != f"it says answer {n} of many"]
    assert wrong == []
    assert len({answer["id"] for answer in found.values()}) == 300
    assert 'harness_requests_total{outcome="refused"}' in refused


def test_tasks_of_an_event_loop_get_theirs_though_some_give_up(serve: Serve) -> None:
    chance = random.Random(5)

    async def ask(served: Served, number: int) -> tuple[int, Any]:
        asked = judge_async(f"answer {number} of many", "19_ReLU", url=served.url)
        try:
            return number, await asyncio.wait_for(asked, chance.choice([0.02, 60, 60]))
        except TimeoutError:
            return number, None

    async def ask_all(served: Served) -> list[tuple[int, Any]]:
        return await asyncio.gather(*(ask(served, number) for number in range(200)))

    with serve() as served:
        found = asyncio.run(ask_all(served))
    given = {number: answer["summary"]["detail"] for number, answer in found if answer is not None}
    assert given == {number: f"it says answer {number} of many" for number in given}
    assert len(given) > 100


def test_half_a_character_in_a_models_text_is_no_obstacle(serve: Serve) -> None:
    with serve() as served:
        assert judge("an \ud800 answer", "19_ReLU", url=served.url)["summary"]["detail"] == "it says an ? answer"


def test_a_fault_reaches_the_client_as_no_verdict(serve: Serve) -> None:
    with serve() as served:
        for text in ("machine", "problem", "swapped"):
            with pytest.raises(NoVerdict, match="fault"):
                judge(text, "19_ReLU", url=served.url)
        with pytest.raises(NoVerdict, match="refused: 422"):
            judge("x", "none", url=served.url)


def test_nothing_is_kept_of_callers_that_have_left(serve: Serve, bench: FakeBench) -> None:
    with serve() as served:
        threads = [threading.Thread(target=post, args=(served,), kwargs={"wait": 0.2}) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert served.engine.phases == {}


# KernelGYM's client


def task(task_id: str, reference: str, kernel: str, **more: Any) -> dict[str, Any]:
    """What its client sends."""
    return {
        "task_id": task_id,
        "reference_code": reference,
        "kernel_code": kernel,
        "backend": "cuda",
        "entry_point": "Model",
        "num_correct_trials": 5,
        "num_perf_trials": 100,
        "timeout": 60,
        "priority": "normal",
        "force_refresh": False,
        "enable_profiling": True,
        **more,
    }


def test_kernelgyms_bodies_are_answered_in_its_words(serve: Serve, problems: Path) -> None:
    reference = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        status, found = served.ask("POST", "/kernelgym/evaluate", task("kb_000001_ab", reference, "correct"))
        assert status == 200
        assert (found["status"], found["compiled"], found["correctness"]) == ("completed", True, True)
        assert (found["speedup"], found["kernel_runtime"], found["reference_runtime"]) == (2.0, 0.5, 1.0)
        assert (found["decoy_kernel"], found["error_message"]) == (False, None)
        assert served.ask("GET", "/kernelgym/status/kb_000001_ab") == (200, found)
        assert served.ask("GET", "/kernelgym/results/kb_000001_ab") == (200, found)
        _, wrong = served.ask("POST", "/kernelgym/evaluate", task("kb_000002_ab", reference, "an answer"))
        assert (wrong["correctness"], wrong["error_message"]) == (False, "it says an answer")
        assert served.ask("GET", "/kernelgym/status/none")[0] == 404
        assert served.ask("POST", "/kernelgym/evaluate", task("kb_3", reference + "#", "x"))[0] == 403
        assert served.ask("POST", "/kernelgym/evaluate", task("kb_4", reference, "x", entry_point="Net"))[0] == 422


def test_a_problem_that_cannot_be_read_keeps_kernelgyms_client_from_no_other(serve: Serve, problems: Path) -> None:
    reference = (problems / "level1/19_ReLU.py").read_text()
    (problems / "level1/20_Broken.py").write_bytes(b"\xff")
    with serve() as served:
        assert served.ask("POST", "/kernelgym/evaluate", task("kb_1", reference, "correct"))[0] == 200


def test_to_kernelgyms_client_a_fault_is_no_failed_task_but_a_503(serve: Serve, problems: Path) -> None:
    """It makes a failed task a reward of -1, and tries a 503 again."""
    reference = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        assert served.ask("POST", "/kernelgym/evaluate", task("kb_1", reference, "problem once"))[0] == 503
        assert served.ask("GET", "/kernelgym/status/kb_1")[0] == 503
        assert served.ask("POST", "/kernelgym/evaluate", task("kb_1", reference, "problem once"))[0] == 200


def test_a_task_id_of_another_kernel_is_refused_and_the_same_body_goes_on_working(serve: Serve, problems: Path) -> None:
    reference = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        first = served.ask("POST", "/kernelgym/evaluate", task("kb_1", reference, "an answer of A"))
        assert first[0] == 200
        for other in (task("kb_1", reference, "correct one of B"), task("kb_1", reference + "\n", "an answer of A")):
            assert served.ask("POST", "/kernelgym/evaluate", other)[0] == 409
        assert served.engine.jobs.count("done") == 1
        assert served.ask("GET", "/kernelgym/results/kb_1") == first
        for more in ({}, {"force_refresh": True}):
            again = served.ask("POST", "/kernelgym/evaluate", task("kb_1", reference, "an answer of A", **more))
            assert (again[0], again[1]["correctness"]) == (200, False)


@pytest.mark.parametrize("path", ["run/3/b", "run%2F3%2Fb"])
def test_a_task_id_with_slashes_is_found(serve: Serve, problems: Path, path: str) -> None:
    reference = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        asked = served.ask("POST", "/kernelgym/evaluate", task("run/3/b", reference, "correct"))
        assert asked[0] == 200
        for route in ("status", "results"):
            assert served.ask("GET", f"/kernelgym/{route}/{path}") == asked


@pytest.mark.parametrize(
    "name", ["a?b", "a#b", "a%2Fb", "a b", "a\n", "../x", "a//b", "/", "a/", ".", "a\\b", "\udfff"]
)
def test_a_task_id_that_no_path_can_hold_as_it_is_is_refused(serve: Serve, problems: Path, name: str) -> None:
    reference = (problems / "level1/19_ReLU.py").read_text()
    with serve() as served:
        assert served.ask("POST", "/kernelgym/evaluate", task(name, reference, "correct"))[0] == 422
