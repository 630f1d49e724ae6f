import io

from click.testing import CliRunner
from rich.console import Console

from harness.cli import main
from harness.cli.console import output_console
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


def test_a_terminal_obeys_no_name_of_a_file(capsys):
    """Names in a folder of answers are those of whoever made it."""
    output_console().print("left out    \x1b]0;title\x07\x9b2J.py: it is a pipe")
    assert capsys.readouterr().out == "left out    \\x1b]0;title\\x07\\x9b2J.py: it is a pipe\n"


def test_nor_does_it_one_in_an_error(tmp_path):
    said = CliRunner().invoke(main, ["eval", str(tmp_path / "\x1b[2J.py"), "--problem", "1"])
    assert said.exit_code != 0
    assert "\x1b" not in said.output
