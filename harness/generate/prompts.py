"""Templates: from a problem to the messages that ask for it.

A folder of small files, ours or ours with the user's own laid over them:

    system.md               the first message; empty for none
    user.md                 the question: ${problem} ${title} ${language} ${language_name} ${precision} ${hardware}
                            ${examples}
    example.md              one example: ${problem} ${answer}
    hardware.md             the device, where one is stated: ${name} ${facts}
    refine.md               what is said to an answer: ${verdict} ${next_step}
    language/<language>.md  how to hand in a kernel; ours are the rows of `harness.languages`
    precision/<name>.md     fp32, fp16 or bf16
    examples/               <name>.py is a problem, <name>.<language>.py its answer; a user's replace all of ours

What stands for language, precision, hardware and examples ends with an empty line, or is empty. `$$` stands for a
dollar sign. What is put in is put in as it is: a problem may hold dollars and braces.
"""

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.errors import InputError
from harness.generate.hardware import find_hardware
from harness.languages import LANGUAGES, prompted
from harness.schema import Problem
from harness.schema.base import Sha256
from harness.schema.generation import GenerationSettings, Message

VARIANTS: dict[str, int | None] = {"zero-shot": 0, "one-shot": 1, "few-shot": None}
"""How many examples each shows; None for all."""
PRECISIONS = ("fp32", "fp16", "bf16")

_OURS = Path(__file__).parent / "templates"
_EXAMPLES = "examples/"
_SUFFIXES = (".md", ".py")


@dataclass(frozen=True)
class Templates:
    """Texts by their path in the folder."""

    texts: Mapping[str, str]

    @cached_property
    def sha256(self) -> Sha256:
        """One hash over all of them."""
        digest = hashlib.sha256()
        for name, text in sorted(self.texts.items()):
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    def opening(self, problem: Problem, settings: GenerationSettings) -> tuple[Message, ...]:
        """The prompt of a conversation. Raises InputError where a template does not fit."""
        user = self._filled(
            "user.md",
            problem=problem.source.strip(),
            title=problem.title,
            language_name=LANGUAGES[settings.language].title,
            language=self._block(f"language/{settings.language}.md"),
            precision=self._block(f"precision/{settings.precision}.md"),
            hardware=self._hardware(settings.hardware),
            examples=self._examples(settings),
        )
        system = self._filled("system.md").strip()
        asked = Message(role="user", content=user.strip() + "\n")
        return (Message(role="system", content=system), asked) if system else (asked,)

    def refinement(self, *, verdict: str, next_step: str) -> Message:
        """What is said to an answer. Raises InputError where the template does not fit."""
        return Message(
            role="user", content=self._filled("refine.md", verdict=verdict, next_step=next_step).strip() + "\n"
        )

    def _hardware(self, name: str) -> str:
        if not name:
            return ""
        hardware = find_hardware(name)
        return self._block("hardware.md", name=hardware.name, facts=hardware.facts)

    def _examples(self, settings: GenerationSettings) -> str:
        names = sorted(
            name.removesuffix(f".{settings.language}.py")
            for name in self.texts
            if name.startswith(_EXAMPLES) and name.endswith(f".{settings.language}.py")
        )
        wanted = VARIANTS[settings.variant]
        if wanted != 0 and not names:
            raise InputError(
                f"the templates hold no example in {settings.language}: take --variant zero-shot, or add one"
            )
        return "".join(
            self._block(
                "example.md",
                problem=self._text(f"{name}.py").strip(),
                answer=self._text(f"{name}.{settings.language}.py").strip(),
            )
            for name in names[:wanted]
        )

    def _block(self, template: str, /, **values: str) -> str:
        """A paragraph or more with an empty line after it, so that one that is left out leaves no gap."""
        text = self._filled(template, **values).strip()
        return f"{text}\n\n" if text else ""

    def _text(self, name: str) -> str:
        if name not in self.texts:
            raise InputError(f"the templates hold no {name}: add it")
        return self.texts[name]

    def _filled(self, template: str, /, **values: str) -> str:
        try:
            return string.Template(self._text(template)).substitute(values)
        except KeyError as error:
            known = ", ".join(f"${{{each}}}" for each in values) or "none"
            raise InputError(f"the template {template} asks for ${{{error.args[0]}}}; it may ask for {known}") from None
        except ValueError as error:
            raise InputError(f"the template {template} is malformed ({error}): write $$ for a dollar sign") from None


def load_templates(own: Path | None = None) -> Templates:
    """Ours, with the files of the folder `own` in the place of those of the same name.

    Raises InputError where the folder is missing, cannot be read or holds a file that no prompt would use.
    """
    texts = _read(_OURS) | {f"language/{name}.md": row.prompt for name, row in prompted().items()}
    if own is None:
        return Templates(texts)
    if not own.is_dir():
        raise InputError(f"there is no folder of templates {own}: check the path")
    theirs = _read(own)
    strangers = [name for name in theirs if name not in texts and not name.startswith(_EXAMPLES)]
    if strangers:
        known = ", ".join(name for name in texts if not name.startswith(_EXAMPLES))
        raise InputError(f"{own / strangers[0]} is no template that a prompt uses: there are {known}, and examples/")
    if any(name.startswith(_EXAMPLES) for name in theirs):
        texts = {name: text for name, text in texts.items() if not name.startswith(_EXAMPLES)}
    return Templates(texts | theirs)


def _read(folder: Path) -> dict[str, str]:
    try:
        return {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.suffix in _SUFFIXES and path.is_file() and path.stem.upper() != "README"
        }
    except UnicodeDecodeError as error:
        raise InputError(f"a template in {folder} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{error.filename or folder} cannot be read: {error.strerror or error}") from error
