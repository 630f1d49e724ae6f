import pytest
from questions import SHA, problem

from harness.generate.conversation import Plan
from harness.generate.folder import GenerationFolder
from harness.generate.prompts import load_templates
from harness.schema import (
    Correct,
    Device,
    Environment,
    Failed,
    ProblemRef,
    Record,
    SubmissionRef,
    Verdict,
)
from harness.schema.generation import Generation, GenerationSettings

FAILED = Failed(stage="run", reason="exception", detail="KeyError: 'x'")
A, B = problem("1_A"), problem("2_B")


@pytest.fixture
def folder(tmp_path):
    return GenerationFolder(tmp_path, GenerationSettings(model="m", templates_sha256=SHA))


def plan(**changes) -> Plan:
    return Plan(**({"problems": [A, B], "samples": 2, "turns": 3, "templates": load_templates()} | changes))


def answer(text: str = "answer", *, turn: int = 0, sample: int = 0, messages=({"role": "user", "content": "q"},)):
    return Generation(
        problem="level1/1_A", problem_sha256=SHA, sample=sample, turn=turn, parent=None, model="m", answered_by="m",
        api="chat", base_url="http://x/v1", prompt_sha256=SHA, request={"messages": list(messages)}, response={},
        outcome="complete", finish_reason="stop", text=text, sha256=SHA, asked_at="now", seconds=1.0,
    )  # fmt: skip


def record(path: str, verdict: Verdict = FAILED, sha256: str = SHA) -> Record:
    return Record(
        problem=ProblemRef(set="level1", name="1_A", sha256=SHA),
        submission=SubmissionRef(path=path, sha256=sha256),
        device=Device(kind="cuda", name="GPU"),
        verdict=verdict,
        environment=Environment(harness="0", python="3", torch="2"),
        judged_at="2026-01-01T00:00:00+00:00",
    )


def due(plan, folder, answers, records):
    asks = plan.due({one.key: one for one in answers}, {one.submission.path: one for one in records}, folder)
    return [(ask.problem.name, ask.sample, ask.turn) for ask in asks]


def test_every_problem_is_asked_once_before_any_is_asked_twice(folder):
    assert due(plan(), folder, [], []) == [("1_A", 0, 0), ("2_B", 0, 0), ("1_A", 1, 0), ("2_B", 1, 0)]


def test_what_is_answered_and_not_judged_waits(folder):
    assert due(plan(samples=1), folder, [answer()], []) == [("2_B", 0, 0)]


def test_what_is_judged_is_followed_up_as_often_as_was_asked_for(folder):
    first, second, third = (answer(turn=turn) for turn in range(3))
    paths = [str(folder.path(one)) for one in (first, second, third)]
    alone = plan(problems=[A], samples=1)
    assert due(alone, folder, [first], [record(paths[0])]) == [("1_A", 0, 1)]
    assert due(alone, folder, [first, second], [record(paths[0]), record(paths[1])]) == [("1_A", 0, 2)]
    assert due(alone, folder, [first, second], [record(paths[0])]) == []
    assert due(alone, folder, [first, second, third], [record(path) for path in paths]) == []


def test_a_verdict_on_a_text_that_was_edited_since_is_not_sent_back(folder):
    path = str(folder.path(answer()))
    assert due(plan(problems=[A], samples=1), folder, [answer()], [record(path, sha256="1" * 64)]) == []


def test_a_conversation_with_nothing_left_to_improve_is_over(folder):
    path = str(folder.path(answer()))
    assert due(plan(problems=[A], samples=1), folder, [answer()], [record(path, Correct(trials=1))]) == []


def test_the_next_question_holds_all_that_was_said_and_names_its_parent():
    ask = plan().following(A, answer("my kernel"), record("a"))
    assert [(message.role, message.content) for message in ask.messages[:2]] == [
        ("user", "q"),
        ("assistant", "my kernel"),
    ]
    assert "KeyError: 'x'" in ask.messages[2].content
    assert (ask.turn, ask.parent, ask.sample) == (1, SHA, 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("<think>long</think>\n\nshort", "short"), ("", "(no answer)"), ("<think>only</think>", "(no answer)")],
)
def test_thoughts_are_not_repeated_and_an_empty_answer_is_named(text, shown):
    ask = plan().following(A, answer(text), record("a"))
    assert ask.messages[1].content == shown
