import io

from rich.console import Console

from harness.cli.progress import AtWork


def drawn(work):
    out = io.StringIO()
    Console(file=out, width=60).print(work)
    return [line.split() for line in out.getvalue().splitlines()]


def test_what_is_at_work_is_named_with_its_step_and_how_long_it_has_been_there():
    now = [100.0]
    work = AtWork(lambda: now[0])
    work.step("a.txt", "build")
    now[0] = 103.0
    work.step("b.txt", "check")
    now[0] = 175.0
    assert drawn(work) == [["1:15", "build", "a.txt"], ["1:12", "check", "b.txt"]]
    work.step("a.txt", "")
    assert drawn(work) == [["1:12", "check", "b.txt"]]
