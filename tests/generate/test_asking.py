import asyncio
import json
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from questions import KEY, SHA, Listener, question
from scripted_server import Fail, Hang, Raw, Reset, Say

from harness.errors import InputError, MachineError
from harness.generate import asking as asking_module
from harness.generate import client as client_module
from harness.generate.asking import Asking, cleaned
from harness.generate.asking import Server as Address
from harness.generate.client import retry_after_s
from harness.generate.folder import open_generations
from harness.schema.generation import GenerationSettings

APIS = pytest.mark.parametrize("api", ["chat", "responses"])
CODE = "```python\nclass ModelNew: ...\n```\n"


def everything_below(folder):
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


# What comes back is kept as what it is


@APIS
def test_an_answer_is_kept_with_all_that_led_to_it(serve, ask_all, tmp_path, api):
    server = serve(Say(CODE, usage={"prompt_tokens": 11, "completion_tokens": 22}))
    (kept,) = ask_all(server, api=api, temperature=0.5, max_tokens=99, parameters={"seed": 7}).kept
    assert (kept.text, kept.outcome, kept.answered_by) == (CODE, "complete", "scripted-1")
    assert (kept.usage.prompt_tokens, kept.usage.completion_tokens) == (11, 22)
    assert kept.finish_reason == {"chat": "stop", "responses": "completed"}[api]
    assert kept.request == server.requests[0].body
    assert kept.request["temperature"] == 0.5
    assert kept.request["seed"] == 7
    assert kept.request["max_tokens" if api == "chat" else "max_output_tokens"] == 99
    assert [message.content for message in kept.messages] == ["hello"]
    assert CODE in json.dumps(kept.response).encode().decode("unicode_escape")
    assert kept.seconds >= kept.first_token_s > 0
    assert server.requests[0].path == {"chat": "/v1/chat/completions", "responses": "/v1/responses"}[api]
    below = tmp_path / "generations/m/level1/19_ReLU"
    assert (below / "sample_0.txt").read_text() == CODE
    assert json.loads((below / "sample_0.json").read_text())["sha256"] == kept.sha256


@APIS
@pytest.mark.parametrize(
    ("say", "text", "outcome"),
    [
        (Say(""), "", "empty"),
        (Say(" \n"), " \n", "empty"),
        (Say("half a", finish="length"), "half a", "truncated"),
        (Say("", finish="length"), "", "truncated"),
        (Say("", refusal="I would rather not."), "I would rather not.", "refused"),
        (Say("some", finish="content_filter"), "some", "refused"),
    ],
)
def test_an_answer_that_is_none_is_kept_as_what_it_is(serve, ask_all, tmp_path, api, say, text, outcome):
    server = serve(say)
    (kept,) = ask_all(server, api=api).kept
    assert (kept.text, kept.outcome) == (text, outcome)
    assert (tmp_path / "generations/m/level1/19_ReLU/sample_0.txt").read_text() == text
    assert len(server.requests) == 1


def test_a_prompt_that_the_servers_filter_declines_is_a_refusal(serve, ask_all):
    (kept,) = ask_all(serve(Fail(400, "flagged", code="content_filter"))).kept
    assert (kept.text, kept.outcome, kept.finish_reason) == ("", "refused", "content_filter")
    assert kept.response["error"]["message"] == "flagged"


def test_what_servers_add_of_their_own_is_kept(serve, ask_all):
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.25, "prompt_tokens_details": {"cached_tokens": 1}}
    (kept,) = ask_all(serve(Say(CODE, reasoning="let me think", usage=usage))).kept
    assert kept.response["choices"][0]["message"]["reasoning_content"] == "let me think"
    assert (kept.usage.cost, kept.usage.cached_tokens) == (0.25, 1)
    assert kept.text == CODE


def test_a_server_that_counts_no_tokens_is_none_the_worse(serve, ask_all):
    (kept,) = ask_all(serve(Say(CODE, usage=None))).kept
    assert (kept.text, kept.usage.prompt_tokens) == (CODE, None)


@pytest.mark.parametrize("count", [10**30, -(10**30), "many", [7]])
def test_what_is_no_number_of_64_bits_is_no_count(serve, ask_all, count: object):
    (kept,) = ask_all(serve(Say(CODE, usage={"prompt_tokens": count, "completion_tokens": 5}))).kept
    assert (kept.text, kept.usage.prompt_tokens, kept.usage.completion_tokens) == (CODE, None, 5)


@pytest.mark.parametrize(
    "usage", [[1], "much", {"prompt_tokens_details": [1]}, {"cost": 10**400}], ids=["list", "text", "details", "cost"]
)
def test_an_answer_in_another_shape_is_tried_again_and_ends_no_command(serve, ask_all, usage: Any):
    server = serve(lambda request: Say(CODE, usage=None if request.number else usage))
    (kept,) = ask_all(server).kept
    assert len(server.requests) == 2
    assert kept.text == CODE


@pytest.mark.parametrize("levels", [200, 300, 900, 100_000])
def test_no_depth_of_an_event_ends_a_command_or_makes_an_answer_that_cannot_be_read_back(
    serve, ask_all, tmp_path, levels
):
    head = b'{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"extra":'
    listener = ask_all(serve(Raw(b"data: " + head + b"[" * levels + b"]" * levels + b"}\n\n")))
    assert len(listener.kept) + len(listener.lost) == 1
    with open_generations(tmp_path / "generations", GenerationSettings(model="m", templates_sha256=SHA)) as folder:
        assert [kept.text for kept in folder.generations()] == [kept.text for kept in listener.kept]


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
@pytest.mark.parametrize("text", [{"a": 1}, 5, ["a"]])
def test_an_answer_whose_text_is_none_is_tried_again_and_ends_no_command(serve, ask_all, finish, text):
    event = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
    listener = ask_all(serve(Raw(b"data: " + json.dumps(event).encode() + b"\n\n")))
    assert (listener.kept, len(listener.waits)) == ([], 5)
    assert "a text is of type" in listener.lost[0]


@pytest.mark.parametrize(
    "act",
    [
        Raw(b"data: " + b"x" * 40_000),
        Raw(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' * 1000),
        Fail(500, "x" * 40_000),
    ],
    ids=["one line", "many events", "an error"],
)
def test_an_answer_that_is_longer_than_any_is_left(serve, ask_all, monkeypatch, act):
    monkeypatch.setattr(client_module, "MOST_BYTES", 32 << 10)
    server = serve(act)
    assert ask_all(server).lost == ["the answer has more than 0 MiB"]
    assert len(server.requests) == 1


def test_an_answer_that_comes_packed_is_not_unpacked(serve, ask_all):
    server = serve(Fail(200, headers={"content-encoding": "gzip", "content-type": "text/event-stream"}))
    assert "packed (gzip)" in ask_all(server).lost[0]


def test_halves_of_characters_are_written_as_escapes(serve, ask_all, tmp_path):
    (kept,) = ask_all(serve(Say("x\ud800y", pieces=1))).kept
    assert kept.text == r"x\ud800y"
    assert (tmp_path / "generations/m/level1/19_ReLU/sample_0.txt").read_text() == r"x\ud800y"


def test_openais_own_server_is_told_the_limit_by_its_new_name():
    from harness.generate.apis import APIS as TABLE

    settings = GenerationSettings(model="m", templates_sha256=SHA, max_tokens=5)
    there = TABLE["chat"].body(question().messages, settings, "https://api.openai.com/v1")
    elsewhere = TABLE["chat"].body(question().messages, settings, "http://localhost:8000/v1")
    assert "max_tokens" not in there
    assert there["max_completion_tokens"] == elsewhere["max_tokens"] == 5


# Failures are tried again


@APIS
@pytest.mark.parametrize(
    "act",
    [
        Fail(500),
        Fail(502),
        Fail(503),
        Fail(408),
        Fail(529),
        Reset(),
        Say(CODE, cut_after=3, by="close"),
        Say(CODE, cut_after=3, by="reset"),
        Say(CODE, cut_after=3, by="end"),
        Raw(b'data: {"id": "x", "cho'),
        Raw(b"data: 5\n\n"),
        Raw(b'data: {"choices": "none"}\n\n'),
        Raw(b'data: {"error": {"message": "overloaded", "code": 502}}\n\n'),
        Raw(b'event: error\ndata: {"type": "error", "code": "server_error", "message": "no", "param": null}\n\n'),
        Raw(b""),
    ],
    ids=repr,
)
def test_a_fault_of_the_server_or_the_way_is_tried_again(serve, ask_all, api, act):
    server = serve(lambda request: act if request.seen == 0 else Say(CODE))
    (kept,) = ask_all(server, api=api).kept
    assert kept.text == CODE
    assert len(server.requests) == 2
    (attempt,) = kept.failed_attempts
    assert attempt.detail
    assert attempt.status == (act.status if isinstance(act, Fail) else None)


def test_a_stream_that_reports_a_failure_is_tried_again(serve, ask_all):
    for api in ("chat", "responses"):
        server = serve(lambda request: Say(CODE, finish="error") if request.seen == 0 else Say(CODE))
        (kept,) = ask_all(server, question(sample=len(api)), api=api, model=api).kept
        assert (kept.text, len(kept.failed_attempts)) == (CODE, 1)


def test_a_server_that_stays_broken_is_asked_so_often_and_no_more(serve, ask_all):
    server = serve(Fail(500, "out of order"))
    listener = ask_all(server)
    assert listener.kept == []
    assert len(server.requests) == asking_module.ATTEMPTS
    assert len(listener.waits) == asking_module.ATTEMPTS - 1
    assert len(listener.lost) == 1
    assert listener.lost[0].startswith("HTTP 500: ")
    assert "out of order" in listener.lost[0]


@pytest.mark.parametrize("header", [{"retry-after": "0.15"}, {"retry-after-ms": "150"}])
def test_a_limit_is_waited_for_as_long_as_the_server_says(serve, ask_all, header):
    server = serve(lambda request: Fail(429, headers=header) if request.seen < 8 else Say(CODE))
    began = time.monotonic()
    listener = ask_all(server)
    assert len(listener.kept) == 1, "more limits are met than faults would be forgiven"
    assert time.monotonic() - began >= 8 * 0.15
    assert all(0.15 <= wait.waited_s <= 0.3 for wait in listener.waits)


def test_patience_with_a_limit_ends(serve, ask_all, monkeypatch):
    monkeypatch.setattr(asking_module, "PATIENCE_S", 1.0)
    server = serve(Fail(429, headers={"retry-after": "3600"}))
    assert len(ask_all(server).lost) == 1
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 500])
@pytest.mark.parametrize("after", ["1e9", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_server_that_asks_for_a_wait_beyond_all_patience_is_left(serve, ask_all, status, after):
    server = serve(Fail(status, headers={"retry-after": after}))
    (lost,) = ask_all(server).lost
    assert lost.startswith(f"HTTP {status}")
    assert len(server.requests) == 1


def test_a_date_that_no_clock_shows_asks_for_no_wait():
    beyond = {"retry-after": "Mon, 01 Jan 2024 00:00:00 +99999999999999999999"}
    assert retry_after_s(beyond, now=datetime.now(UTC)) is None


def test_a_request_that_the_server_calls_bad_is_not_sent_again(serve, ask_all):
    server = serve(lambda request: Fail(400, "too long") if request.asked == "long" else Say(CODE))
    listener = ask_all(server, question(0, "long"), question(1, "short"))
    assert [kept.sample for kept in listener.kept] == [1]
    assert len(server.requests) == 2
    assert "too long" in listener.lost[0]


# Time


@APIS
def test_a_server_that_says_nothing_is_left_at_the_deadline_and_asked_again(serve, ask_all, api):
    server = serve(lambda request: Hang() if request.seen == 0 else Say(CODE))
    (kept,) = ask_all(server, api=api, deadline_s=0.3).kept
    assert kept.text == CODE
    assert "nothing came" in kept.failed_attempts[0].detail


@APIS
def test_an_answer_that_has_begun_at_the_deadline_is_kept_as_truncated(serve, ask_all, api):
    server = serve(Say("abcdefgh", pieces=4, hang_after=3))
    (kept,) = ask_all(server, api=api, deadline_s=0.4).kept
    assert (kept.text, kept.outcome, kept.finish_reason) == ("abcd", "truncated", "deadline")
    assert len(server.requests) == 1


def test_an_answer_that_had_ended_at_the_deadline_is_whole(serve, ask_all):
    (kept,) = ask_all(serve(Say("abcdefgh", pieces=2, hang_after=4)), deadline_s=0.4).kept
    assert (kept.text, kept.outcome) == ("abcdefgh", "complete")


def test_no_more_are_in_flight_than_was_asked_for(serve, ask_all):
    server = serve(Say(CODE, delay_s=0.02))
    listener = ask_all(server, *(question(sample) for sample in range(40)), concurrency=5)
    assert len(listener.kept) == 40
    assert 2 <= server.most_at_once <= 5


# When nobody is let in


@pytest.mark.parametrize(
    "act",
    [
        Fail(401, "bad key"),
        Fail(403, "forbidden"),
        Fail(404, "no such model"),
        Fail(402, "Insufficient Balance"),
        Fail(429, "no credit", code="insufficient_quota"),
    ],
    ids=lambda act: str(act.status),
)
def test_a_server_that_lets_nobody_in_ends_it_at_once(serve, ask_all, act):
    server = serve(act)
    with pytest.raises(InputError, match="lets nobody in") as raised:
        ask_all(server, *(question(sample) for sample in range(50)), concurrency=4)
    assert act.message in str(raised.value)
    assert len(server.requests) <= 4


def test_what_is_being_answered_when_the_door_closes_is_heard_out(serve, ask_all, tmp_path):
    server = serve(lambda request: Say(CODE, delay_s=0.3) if request.asked == "slow" else Fail(401))
    with pytest.raises(InputError):
        ask_all(server, question(0, "slow"), question(1, "fast"), question(2, "fast"), concurrency=2)
    assert (tmp_path / "generations/m/level1/19_ReLU/sample_0.txt").read_text() == CODE


def test_many_in_a_row_without_an_answer_end_it(serve, ask_all, monkeypatch):
    monkeypatch.setattr(asking_module, "ATTEMPTS", 1)
    server = serve(Fail(500, "out of order"))
    with pytest.raises(MachineError, match="10 requests in a row without an answer") as raised:
        ask_all(server, *(question(sample) for sample in range(50)), concurrency=4)
    assert "out of order" in str(raised.value)
    assert len(server.requests) <= 13


def test_a_server_that_is_not_there_is_a_fault_of_the_machine(ask_all, monkeypatch):
    monkeypatch.setattr(asking_module, "ATTEMPTS", 2)
    with pytest.raises(MachineError, match="without an answer"):
        ask_all(None, *(question(sample) for sample in range(12)), url="http://127.0.0.1:9/v1")


# The key


def test_the_key_goes_to_the_server_and_nowhere_else(serve, ask_all, tmp_path):
    def script(request):
        if request.seen == 0:
            return Fail(500, f"Incorrect key {KEY}")
        return Say(f"your key is {KEY}", pieces=1)

    server = serve(script)
    listener = ask_all(server)
    assert {request.key for request in server.requests} == {KEY}
    assert listener.kept[0].text == "your key is [key]"
    assert "[key]" in listener.waits[0].detail
    assert KEY not in everything_below(tmp_path)
    assert KEY not in repr(Address("http://x/v1", KEY, 1.0))


def test_a_fault_that_names_the_key_is_told_without_it(serve, ask_all):
    with pytest.raises(InputError) as raised:
        ask_all(serve(Fail(401, f"Incorrect API key provided: {KEY}")))
    assert KEY not in str(raised.value)
    assert "[key]" in str(raised.value)


def test_a_placeholder_for_a_key_is_an_ordinary_word():
    assert cleaned({"none": ["none"]}, secret="none") == {"none": ["none"]}


# From another thread


def test_asks_may_come_while_others_are_answered_and_from_any_thread(serve, tmp_path, quick):
    settings = GenerationSettings(model="m", templates_sha256=SHA)
    server = serve(Say(CODE))

    class Chain(Listener):
        def answered(self, ask, generation):
            super().answered(ask, generation)
            later = asking.end if ask.sample == 9 else lambda: asking.put(question(ask.sample + 1))
            threading.Thread(target=later).start()

    listener = Chain()
    with open_generations(tmp_path, settings) as folder:
        asking = Asking(settings, Address(server.url, KEY, 5.0), folder, concurrency=3, watcher=listener)
        asking.put(question(0))
        asyncio.run(asking.run())
    assert [kept.sample for kept in listener.kept] == list(range(10))


def test_what_is_abandoned_ends_at_once(serve, tmp_path, quick):
    settings = GenerationSettings(model="m", templates_sha256=SHA)
    server = serve(Hang())
    with open_generations(tmp_path, settings) as folder:
        asking = Asking(settings, Address(server.url, KEY, 60.0), folder, concurrency=3, watcher=Listener())
        asking.put(question(0))
        threading.Timer(0.2, asking.abandon).start()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(asking.run())
        assert time.monotonic() - began < 10
        asking.put(question(1))  # nobody is there any more, which is no error
