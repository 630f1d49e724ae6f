"""One record as a person reads it: the whole report, and the line of a list."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.report.escape import one_cell, plain
from harness.report.leaderboard import interval_text, speedup_style
from harness.schema import (
    EMULATED,
    Correct,
    Device,
    Extraction,
    Failed,
    Infrastructure,
    Mismatch,
    Record,
    Rejected,
    Timing,
    Verdict,
    Workload,
    Wrong,
)

STYLES = {
    "correct": "bold green",
    "wrong": "bold red",
    "failed": "bold red",
    "rejected": "bold magenta",
    "infrastructure": "bold yellow",
}
_SEVERITY_STYLES = {"info": "dim", "warn": "yellow", "reject": "bold magenta"}
_LOG_LINES = 40
_DETAIL_CHARACTERS = 100
_LINE_CHARACTERS = 400


@dataclass(frozen=True)
class Mark:
    """A sign where the encoding of the console has it, else a word."""

    sign: str
    word: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text(self._shown(options), style=self.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = len(self._shown(options))
        return Measurement(width, width)

    def _shown(self, options: ConsoleOptions) -> str:
        try:
            self.sign.encode(options.encoding)
        except UnicodeEncodeError:
            return self.word
        return self.sign


def one_line(record: Record, *, width: int | None = None) -> str:
    """A record in one line of plain text, for lists that go by: the verdict first, so that a column of them reads.

    Args:
        width: columns that there are. What is too long loses the front of its path first, then that of its problem,
            and the end of its reason last.
    """
    submission = record.submission
    word = f"{_word(record.verdict):<10}"
    sample = f" (sample {submission.sample})" if submission.sample else ""
    title, path, said = one_cell(record.problem.title), f"{one_cell(submission.path)}{sample}", outcome(record)
    whole = f"{word}  {title}  {path}  {said}"
    if width is None or len(whole) <= width:
        return whole
    path = one_cell(submission.path)
    path = _without_front(path, width - len(f"{word}  {title}    {said}"))
    title = _without_front(title, width - len(f"{word}    {path}  {said}"))
    line = f"{word}  {title}  {path}  {said}"
    return line if len(line) <= width else f"{line[: width - 1]}…"


_SHORTEST = 12


def _without_front(text: str, room: int) -> str:
    """The end of a text that has so much room, but at least _SHORTEST characters of it."""
    room = max(room, _SHORTEST)
    return text if len(text) <= room else f"…{text[1 - room :]}"


def report(record: Record, *, source: str | None = None) -> RenderableType:
    """A record as a page for a terminal: what was asked, how far it came, the verdict, and what speaks against it.

    Args:
        source: the candidate's text. Where it is given, the lines that a flag means are shown.
    """
    return Group(*_parts(record, source))


def _parts(record: Record, source: str | None) -> Iterator[RenderableType]:
    yield from _head(record)
    yield Text()
    yield _stages(record)
    yield Text()
    yield _verdict_line(record)
    yield from _details(record)
    yield from _flags(record, source)
    yield from _tools(record, source)
    yield from _provisos(record)


def _head(record: Record) -> Iterator[Text]:
    submission, model = record.submission, one_cell(record.submission.model)
    sample = f" (sample {submission.sample})" if submission.sample else ""
    title = Text.assemble((one_cell(record.problem.title), "bold"), "  ", f"{one_cell(submission.path)}{sample}")
    if model:
        title.append(f"  by {model}")
    yield title
    yield Text(f"on {one_cell(record.device.name)} ({record.device.kind})", style="dim")
    if proviso := _size(record.device, record.problem.workload):
        yield Text(proviso, style="bold yellow")


def _size(device: Device, workload: Workload) -> str:
    """What was not run as the problem says; empty where all was."""
    changes = ", ".join(
        f"{name} {workload.original.get(name, '?')} -> {value}"
        for name, value in workload.settings.items()
        if workload.original.get(name) != value
    )
    changed = f"{'reduced' if workload.reduced else 'set'} {changes}" if changes else ""
    if device.kind == EMULATED:
        return f"EMULATED on the CPU: correctness only{f', {changed}' if changed else ''}"
    return changed.capitalize()


def _stages(record: Record) -> Table:
    """One line a stage: how it ended, its seconds, what there is to know about it."""
    stopped = _stopped_at(record)
    seconds: dict[str, float | None] = dict(record.phases_s)
    if stopped:
        seconds.setdefault(stopped, None)
    if record.tools:  # they come after the verdict, wherever that fell
        seconds["inspect"] = seconds.pop("inspect", None)
    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column()
    drawn.add_column()
    drawn.add_column(justify="right", no_wrap=True)
    drawn.add_column(overflow="fold")
    for stage, value in seconds.items():
        mark = Mark("✗", "no", "red") if stage == stopped else Mark("✓", "ok", "green")
        spent = "" if value is None else f"{value:.2f} s"
        drawn.add_row(mark, stage, Text(spent, style="dim"), Text(_stage_note(stage, record), style="dim"))
    return drawn


def _stopped_at(record: Record) -> str | None:
    """The stage that did not end well; None where all did."""
    match record.verdict:
        case Failed(stage=stage):
            return stage
        case Wrong():
            return "run"
        case Infrastructure():
            return next(reversed(record.phases_s), None)
        case _:
            return None


def _stage_note(stage: str, record: Record) -> str:
    match stage:
        case "extract" if record.reused:
            return f"judged already: the verdict on {one_cell(record.reused)}, an equal candidate"
        case "extract" if record.submission.extraction:
            return _extraction_note(record.submission.extraction)
        case "screen" if record.candidate:
            return ", ".join(record.candidate.languages)
        case "build":
            return "; ".join(
                f"{one_cell(each.name)}: {each.toolchain}{', cached' if each.cached else f', {each.seconds:.1f} s'}"
                f"{f', refused by the rule {each.decided}' if each.decided else ''}"
                for each in record.builds
            )
        case "run" if isinstance(record.verdict, Correct):
            return f"{record.verdict.trials} calls compared"
        case "confirm":
            return "built by stock and judged again"
        case "inspect":
            return ", ".join(report.tool for report in record.tools)
        case "time" if record.timing:
            return f"{record.timing.rounds} rounds of {_counted(record.timing.calls_per_round, 'call')}"
        case _:
            return ""


def _extraction_note(extraction: Extraction) -> str:
    if extraction.kind == "python":
        return "the whole file"
    taken = [block.index for block in extraction.blocks if block.outcome == "taken"]
    count = max((block.index + 1 for block in extraction.blocks), default=0)
    where = f"block {taken[0] + 1} of {count}" if taken else _counted(count, "block")
    start = f", from line {extraction.first_line}" if extraction.first_line else ""
    return where + start + ("; the response breaks off" if extraction.truncated else "")


def _verdict_line(record: Record) -> Table:
    word = Text(f" {_word(record.verdict).upper()} ", style=f"{STYLES[record.verdict.kind]} reverse")
    return _grid([(word, _verdict_text(record.verdict, record))])


def _word(verdict: Verdict) -> str:
    return "not judged" if isinstance(verdict, Infrastructure) else verdict.kind


def _verdict_text(verdict: Verdict, record: Record) -> Text:
    match verdict:
        case Correct():
            if record.timing is None:
                return Text("not timed")
            speedup = record.timing.speedup
            return Text.assemble(
                (interval_text(speedup), f"bold {speedup_style(speedup)}"), f"  {_conclusion(record.timing)}"
            )
        case Wrong():
            return Text(f"{verdict.reason}: {one_cell(verdict.detail)}")
        case Failed():
            return Text(f"at {verdict.stage}, {verdict.reason}: {one_cell(verdict.detail)}")
        case Rejected():
            return Text(f"{one_cell(verdict.rule)}: {one_cell(verdict.detail)}")
        case Infrastructure():
            return Text(
                f"{one_cell(verdict.detail)} (a fault of ours or of the machine: no score, a batch tries it again)"
            )


def _conclusion(timing: Timing) -> str:
    return {
        "faster": "faster than the reference",
        "slower": "slower than the reference",
        "same": "as fast as the reference",
        "ambiguous": "against the reference: too close to call",
    }[timing.conclusion]


def _details(record: Record) -> Iterator[RenderableType]:
    match record.verdict:
        case Correct(error=error, left_out=left_out, weights=weights):
            if timing := record.timing:
                medians = (
                    f"{ms_text(timing.candidate_ms)} a call, the reference {ms_text(timing.reference_ms)} (medians)"
                )
                yield _indented(Text(medians))
            if error:
                oracle = "" if error.oracle == "float64" else f" ({error.oracle})"
                share = f"error {error.relative:.1e}, the reference's own {error.reference_relative:.1e}{oracle}"
                yield _indented(Text(f"{share}; {error.of_tolerance:.0%} of the tolerance used", style="dim"))
            if weights == "by-name":
                yield _indented(Text("weights by name: from the same seed it draws others than the reference"))
            if left_out:
                told = (
                    f"nothing told by {', '.join(left_out)} inputs: rounding alone moves most of the reference's output"
                )
                yield _indented(Text(told))
        case Wrong(trial=trial, mismatch=mismatch):
            yield _indented(Text(f"on {one_cell(trial)} inputs", style="dim"))
            if mismatch:
                yield from map(_indented, _mismatch(mismatch))
        case Failed(stage="extract") if record.submission.extraction:
            yield from map(_indented, _skipped(record.submission.extraction))
        case Failed(log=log, detail=detail) if log.strip() not in ("", detail.strip()):
            yield _indented(_log(log))


def _skipped(extraction: Extraction) -> Iterator[Text]:
    for block in extraction.blocks:
        where = (
            f"line {block.first_line}, {_counted(block.lines, 'line')} of {one_cell(block.language) or 'no language'}"
        )
        yield Text(f"{where}: {one_cell(block.reason) or block.outcome}")


def _mismatch(mismatch: Mismatch) -> Iterator[Text]:
    share = mismatch.mismatched / mismatch.elements if mismatch.elements else 0.0
    yield Text(
        f"{mismatch.mismatched:,} of {mismatch.elements:,} elements of {one_cell(mismatch.output)} "
        f"are out of tolerance ({_percent(share)})"
    )
    yield Text.assemble(
        f"worst at {list(mismatch.worst_index)}: got ",
        (_value(mismatch.actual), "red"),
        ", expected ",
        (_value(mismatch.expected), "green"),
        f", allowed a difference of {mismatch.tolerance:.3g}",
    )


def _log(log: str) -> Text:
    """The log, its middle left out where it is long: the first errors or the last line of a traceback say most."""
    lines = list(_of_candidate(plain(log).strip("\n").expandtabs(4).split("\n")))
    if len(lines) > _LOG_LINES:
        half = _LOG_LINES // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} lines left out ...", *lines[-half:]]
    shown = Text("\n".join(lines))
    shown.highlight_regex(r"(?i)\berror\b|^\w*(Error|Exception)\b", "bold red")
    shown.highlight_regex(r"(?i)\bwarning\b", "yellow")
    shown.highlight_regex(r"\bline \d+|:\d+(:\d+)?(?=:)|\(\d+\)(?=:)", "cyan")
    return shown


_FRAME = re.compile(r'  File "(?P<file>[^"]*)", line ')
_CANDIDATE = "/candidate.py"


def _of_candidate(lines: Sequence[str]) -> Iterator[str]:
    """A log whose tracebacks show the candidate's own frames: ours above them and the libraries' below tell nothing.

    A traceback with no frame of the candidate stays as it is.
    """
    if not any(_is_own(line) for line in lines):
        yield from lines
        return
    inside = own = False
    for line in lines:
        if _FRAME.match(line):
            inside, own = True, _is_own(line)
        elif inside and not line.startswith("    "):
            inside = False
        if not inside or own:
            yield line.replace(_own_path(line), "candidate.py") if inside and own else line


def _is_own(line: str) -> bool:
    match = _FRAME.match(line)
    return match is not None and match["file"].endswith(_CANDIDATE)


def _own_path(line: str) -> str:
    match = _FRAME.match(line)
    return match["file"] if match else "candidate.py"


def _flags(record: Record, source: str | None) -> Iterator[RenderableType]:
    extraction = record.submission.extraction
    if record.flags:
        yield Text()
    for flag in record.flags:
        severity = Text(f"{flag.severity:<6}", style=_SEVERITY_STYLES[flag.severity])
        yield _grid([(severity, Text.assemble((one_cell(flag.rule), "bold"), f"  {one_cell(flag.detail)}"))])
        yield from (Padding(line, (0, 0, 0, 8), expand=False) for line in _own_lines(flag.lines, extraction, source))


def _tools(record: Record, source: str | None) -> Iterator[RenderableType]:
    """What each tool that was asked for found."""
    if record.tools:
        yield Text()
    for tool in record.tools:
        word, style = (
            ("clean", "green") if tool.clean else ("found", "bold red") if tool.ran else ("no result", "yellow")
        )
        found = Text.assemble((tool.tool, "bold"), f"  {one_cell(tool.summary)}")
        yield _grid([(Text(f"{word:<9}", style=style), found)])
        lines = _own_lines(tool.lines, record.submission.extraction, source)
        yield from (Padding(line, (0, 0, 0, 11), expand=False) for line in lines)


def _own_lines(lines: Sequence[int], extraction: Extraction | None, source: str | None) -> Iterator[Text]:
    """Lines of the candidate, numbered as the submission's file numbers them."""
    if not lines:
        return
    shift = (extraction.first_line or 1) - 1 if extraction else 0
    if source is None:
        numbers = ", ".join(str(line + shift) for line in lines)
        yield Text(f"line {numbers}" if len(lines) == 1 else f"lines {numbers}", style="cyan")
        return
    text = [line.rstrip("\r\n") for line in io.StringIO(source, newline="")]  # as Python counts them
    for line in lines:
        if line <= len(text):
            own = plain(text[line - 1].expandtabs(4))
            shown = own if len(own) <= _LINE_CHARACTERS else f"{own[:_LINE_CHARACTERS]}…"
            yield Text.assemble((f"{line + shift:>5} ", "cyan"), shown)


def _provisos(record: Record) -> Iterator[RenderableType]:
    """What qualifies the verdict: substitutions, isolation."""
    facts = [
        (Text("" if number else "substituted", style="dim"), Text(one_cell(substitution)))
        for number, substitution in enumerate(record.substitutions)
    ]
    facts += [(Text(label, style="dim"), text) for label, text in _isolation(record)]
    if facts:
        yield Text()
        yield _grid(facts)


def _grid(rows: Iterable[tuple[Text, Text]]) -> Table:
    """Two columns: what wraps in the second stays in it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _isolation(record: Record) -> Iterator[tuple[str, Text]]:
    layers, missing = record.sandbox.layers, record.sandbox.missing
    if layers and record.sandbox.weakened:  # what all have goes without saying
        yield "isolated by", Text(", ".join(layers), style="dim")
    if missing and record.sandbox.weakened:
        yield "missing", Text(", ".join(missing), style="yellow")
    if not layers and not missing and isinstance(record.verdict, Correct | Wrong):
        yield "isolation", Text("none", style="yellow")


def outcome(record: Record) -> str:
    match record.verdict:
        case Correct():
            return interval_text(record.timing.speedup) if record.timing else "not timed"
        case Wrong(reason=reason, detail=detail):
            return f"{reason}: {_shortened(detail)}"
        case Failed(stage=stage, reason=reason, detail=detail):
            return f"at {stage}, {reason}: {_shortened(detail)}"
        case Rejected(rule=rule, detail=detail):
            return f"{rule}: {_shortened(detail)}"
        case Infrastructure(detail=detail):
            return _shortened(detail)


def _indented(part: Text) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _shortened(text: str) -> str:
    text = one_cell(text)
    return text if len(text) <= _DETAIL_CHARACTERS else f"{text[: _DETAIL_CHARACTERS - 3]}..."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ms_text(value: float) -> str:
    """Four significant digits, trailing zeros too: they were measured."""
    return f"{f'{value:#.4g}'.rstrip('.')} ms" if 1e-4 <= value < 1e4 else f"{value:.4g} ms"


def _value(value: float | str) -> str:
    return one_cell(value) if isinstance(value, str) else f"{value:.7g}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if share >= 0.0001 else "less than 0.01%"
