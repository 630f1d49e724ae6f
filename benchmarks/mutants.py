"""Single changes to what decides a verdict or a time, and whether the tests of the changed room notice.

    python benchmarks/mutants.py            each in a copy of harness/, with the tests that mirror the file
    python benchmarks/mutants.py --only audit
    python benchmarks/mutants.py -o benchmarks/results/mutants-2-cores.json

A change that the tests pass with survives: it is printed, and the exit status is 1. One dies where a test fails with
it; pytest that ends otherwise, because nothing was collected, say, is a fault of the list. The list is of what once
survived when it was tried by hand, and of what issues have named since; add to it what a review finds.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 600


@dataclass(frozen=True)
class Mutant:
    """`old` stands once in `file` and becomes `new`; `tests` are those that should fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant("the last touch of the device is outside the clock", "judge/rounds.py",
           "        self._device.touch()\n        seconds = time.monotonic() - started\n",
           "        seconds = time.monotonic() - started\n        self._device.touch()\n",
           "tests/judge/test_timing.py"),
    Mutant("contents are shown before the clock", "judge/rounds.py",
           "            started = time.monotonic()\n            sets.reveal(slots)\n",
           "            sets.reveal(slots)\n            started = time.monotonic()\n", "tests/judge/test_timing.py"),
    Mutant("L2 is not evicted after contents were shown", "judge/rounds.py",
           "            sets.reveal(slots)\n            self._device.evict()\n",
           "            sets.reveal(slots)\n", "tests/judge/test_timing.py"),
    Mutant("L2 is not evicted before a round", "judge/rounds.py",
           "        started = time.monotonic()\n        self._device.evict()\n",
           "        started = time.monotonic()\n", "tests/judge/test_timing.py"),
    Mutant("a frozen subject is not waited for", "judge/rounds.py",
           "        seconds = time.monotonic() - started\n        subject.settle()\n",
           "        seconds = time.monotonic() - started\n", "tests/judge/test_timing.py"),
    Mutant("of calls shown one by one the candidate's come first", "judge/timing.py",
           "        self._chance.shuffle(both)\n        for side, samples in both:\n",
           "        for side, samples in both:\n", "tests/judge/test_timing.py"),
    Mutant("what is worked in few rounds counts in part", "judge/round_figures.py",
           "return on_average_s if at_least_s", "return at_least_s if at_least_s", "tests/judge/test_timing.py"),
    Mutant("strides that lead nowhere make another layout", "judge/output_layouts.py",
           "tuple(0 if size == 1 else stride for", "tuple(stride for", "tests/judge/test_output_layouts.py"),
    Mutant("of several ways to read an output the first one counts", "judge/sampled.py",
           "if len(outputs) > 1 else outputs[0]", "if len(outputs) > 99 else outputs[0]",
           "tests/judge/test_sampled.py"),
    Mutant("calls one by one of which nothing could be read are a round like any", "judge/rounds.py",
           "            except Unsettled:\n                return self._unsettled_round()",
           "            except Unsettled:\n                return True", "tests/judge/test_timing.py"),
    Mutant("what keeping and verifying takes is time for rounds", "judge/timing.py",
           "taken_s - (self._clock.verifying_s - verified_s)", "taken_s", "tests/judge/test_timing.py"),
    Mutant("what drawing contents takes is other work", "judge/rounds.py",
           "min(seconds, SLOWED_TIMES * self._drawn_s * len(order))", "0.0", "tests/judge/test_timing.py"),
    Mutant("what slows how contents are drawn is no other work", "judge/rounds.py",
           "min(seconds, SLOWED_TIMES * self._drawn_s * len(order))", "seconds", "tests/judge/test_timing.py"),
    Mutant("the upper end of all rounds leaves open what one kind says for sure", "judge/one_by_one.py",
           "[whole, *less] if hides_none or not less else less", "[whole, *less]", "tests/judge/test_one_by_one.py"),
    Mutant("a kind of rounds enough still has a quick measurement go on", "judge/timing.py",
           "return kind is None or self.mine.kinds.count(kind) >= KIND_ROUNDS", "return kind is None",
           "tests/judge/test_timing.py"),
    Mutant("of two judgements the one whose reference was slowed more counts", "judge/process.py",
           "return min(again, judgement, key", "return max(again, judgement, key", "tests/judge/test_judged_again.py"),
    Mutant("the later half of calls one by one counts for nothing", "judge/one_by_one.py",
           "if later.low > first.high:", "if False:",
           "tests/judge/test_one_by_one.py"),
    Mutant("a kind that says less for sure has no more rounds", "judge/one_by_one.py",
           "0 < len(had) < SURE_KIND_STEPS", "0 < len(had) < KIND_STEPS", "tests/judge/test_one_by_one.py"),
    Mutant("a candidate says whether its calls one by one are verified", "judge/rounds.py",
           "if len(outputs) < len(some):", "if len(outputs) < 0:", "tests/judge/test_timing.py"),
    Mutant("a worker is stopped at calls that nothing can verify", "judge/rounds.py",
           "        if self._plain:  # nothing says which numbers a call had\n            return []\n", "",
           "tests/judge/test_timing.py"),
    Mutant("a second judgement without a time counts", "judge/process.py",
           "reference_slowed if one.timing else math.inf", "reference_slowed if one.timing else 0",
           "tests/judge/test_judged_again.py"),
    Mutant("an output without room for a layout is looked at by fewer copies", "judge/device_steps.py",
           "if at.begins + run.size <= end:", "if False:", "tests/judge/test_device_steps.py"),
    Mutant("outputs that lie with other gaps are read by the newest layout alone", "judge/device_steps.py",
           "known = [newest, *self._layouts.alike(len(newest))]", "known = [newest]",
           "tests/judge/test_device_steps.py"),
    Mutant("what is worked in one round on a device does not count", "judge/round_figures.py",
           "(MOST_UNSEEN if theirs.device_ms else MOST_UNSEEN_ON_HOST)", "MOST_UNSEEN_ON_HOST",
           "tests/judge/test_timing.py"),
    Mutant("rounds of the reference that a candidate lengthened excuse its own", "judge/timing.py",
           "with_chores(measured.mine, held, stated)", "with_chores(measured.mine, beside, stated)",
           "tests/judge/test_timing.py"),
    Mutant("work in half of the rounds of a kind does not count", "judge/round_figures.py",
           "_uneven_by_kind(*_together(mine, theirs, stated)))", "0.0)", "tests/judge/test_timing.py"),
    Mutant("no more rounds are taken where one of them was long", "judge/timing.py",
           " and not may_be_uneven(self.mine, even, stated)", "", "tests/judge/test_timing.py"),
    Mutant("what the reference takes beyond its events counts whole", "judge/round_figures.py",
           "min(beyond_s, most_s)", "beyond_s", "tests/judge/test_timing.py"),
    Mutant("rounds of the reference that set themselves apart count beyond their events", "judge/round_figures.py",
           "usual_s + OUTLIER * scatter_s)", "1e9)", "tests/judge/test_timing.py"),
    Mutant("a slower core excuses no single round of the reference", "judge/round_figures.py",
           "max(0.0, loop_s / usual_s - 1.0) * share", "0.0", "tests/judge/test_timing.py"),
    Mutant("a kind that takes long on its own excuses all others", "judge/round_figures.py",
           "if median(alone.device_ms) < LAUNCH_BOUND_S * 1e3:", "if True:", "tests/judge/test_timing.py"),
    Mutant("a slowed reference hides that a kind looks worse", "judge/timing.py",
           "theirs = self._as_fast_ones(theirs)", "pass", "tests/judge/test_timing.py"),
    Mutant("one pause ends the rounds though a kind looks worse", "judge/timing.py",
           "is_even = self._covers_all_kinds() and self._suspect() is None", "is_even = self._covers_all_kinds()",
           "tests/judge/test_timing.py"),
    Mutant("the last rounds are chosen from what a candidate lengthened", "judge/timing.py",
           "_, stated = stated_of(mine, held,", "_, stated = stated_of(mine, beside,", "tests/judge/test_timing.py"),
    Mutant("a slower core excuses 20 us of a call by quick timing", "judge/timing.py",
           "LAUNCH_BOUND_S if quick else LAUNCHING_S", "LAUNCHING_S", "tests/judge/test_timing.py"),
    Mutant("of kinds that look worse the worst comes first", "judge/timing.py",
           "found[kind] = (-len(of_kind), usual / looks)", "found[kind] = (0, usual / looks)",
           "tests/judge/test_timing.py"),
    Mutant("a kind of few long rounds counts with the rest", "judge/round_figures.py",
           "elif are_long and", "elif False and", "tests/judge/test_timing.py"),
    Mutant("rounds of the reference that are slowed spend the time", "judge/timing.py",
           "min(median(self.theirs.round_s), theirs_s)", "median(self.theirs.round_s)", "tests/judge/test_timing.py"),
    Mutant("a scatter hides a kind by milliseconds", "judge/timing.py",
           "max(by, min(most, DEVIATIONS * scatter))", "max(by, DEVIATIONS * scatter)", "tests/judge/test_timing.py"),
    Mutant("two threads parse at once", "syntax.py",
           "with _PARSING, warnings", "with warnings", "tests/test_syntax.py"),
    Mutant("what is made ready for calls shown one by one does not count", "judge/one_by_one.py",
           "more_s = longer_besides(mine, theirs)", "more_s = 0.0", "tests/judge/test_timing.py"),
    Mutant("calls shown one by one do not count where rounds scatter", "judge/one_by_one.py",
           "most * (1 + STEPS_SLACK) < speedup.value", "most * (1 + STEPS_SLACK) < speedup.low",
           "tests/judge/test_timing.py"),
    Mutant("of few rounds of calls one by one a false one lifts the cap", "judge/one_by_one.py",
           "most = single.high if rounds >= ENOUGH_STEPS else single.value", "most = single.high",
           "tests/judge/test_timing.py"),
    Mutant("an output at a place that nothing foretells is over once it is answered", "judge/device_steps.py",
           "over_s = self._over_s(ended, held) if was_looked_at else ended[-1]",
           "over_s = self._over_s(ended, held) if was_looked_at else answered_s", "tests/judge/test_device_steps.py"),
    Mutant("a copy has a pitch that the driver refuses", "judge/device_steps.py",
           "if count > 1 and run <= pitch <= _LONGEST_PITCH:", "if count > 1:",
           "tests/judge/test_device_steps.py"),
    Mutant("of calls shown one by one none is held", "judge/rounds.py",
           "last=call == len(order) - 1", "last=False", "tests/judge/test_timing.py"),
    Mutant("what the last call on a host was answered with is not verified", "judge/rounds.py",
           "[*self._some_steps(count), count - 1]", "self._some_steps(count)", "tests/judge/test_timing.py"),
    Mutant("outputs on a host are read at the same places after each call", "judge/host_steps.py",
           "(calls, most), generator=chance)", "(1, most), generator=chance).expand(calls, -1)",
           "tests/judge/test_host_steps.py"),
    Mutant("an output on a host of which nothing is mapped was read", "transport/memory.py",
           "                return False\n        return True\n", "                return True\n        return True\n",
           "tests/judge/test_host_steps.py"),
    Mutant("the last call on a host may have other numbers than it was answered with", "judge/host_steps.py",
           " or done.plain[0] != self._plain:", ":", "tests/judge/test_host_steps.py"),
    Mutant("outputs on a host are read by the newest layout alone", "judge/host_steps.py",
           "self._ways = self._layouts.alike(tensors) if", "self._ways = [self._layouts.newest] if",
           "tests/judge/test_host_steps.py"),
    Mutant("a worker that waits for a call keeps its core", "worker/serve.py",
           "        time.sleep(_NAP_S)\n", "        pass\n", "tests/worker/test_serve.py"),
    Mutant("the judge waits awake for a long call", "judge/host_steps.py",
           "> _AWAKE_S:", "> 1e9:", "tests/judge/test_host_steps.py"),
    Mutant("a call shown alone may name any number of outputs", "judge/host_steps.py",
           "        if count != len(self._layouts.newest):", "        if False:", "tests/judge/test_host_steps.py"),
    Mutant("all rounds have nominal contents", "judge/timing.py",
           "        one, other = self._next_kinds()\n", "        one = other = self._base\n",
           "tests/judge/test_timing.py"),
    Mutant("one round of a kind looks worse however rounds scatter", "judge/timing.py",
           "max(by, min(most, DEVIATIONS * scatter))", "by", "tests/judge/test_timing.py"),
    Mutant("who scatters may be worse on a kind by as much", "judge/timing.py",
           "min(most, DEVIATIONS * scatter)", "DEVIATIONS * scatter", "tests/judge/test_timing.py"),
    Mutant("single calls end at eight whatever they tell", "judge/timing.py",
           "or (width and width_of_singles(singles) <= width)", "or True", "tests/judge/test_timing.py"),
    Mutant("a sort of contents counts alone by one round", "judge/round_figures.py",
           "        few = min(len(better), len(worse)) < SORT_ROUNDS\n",
           "        few = not better or not worse\n", "tests/judge/test_timing.py"),
    Mutant("half of the rounds of a sort may be slowed", "judge/timing.py",
           "    beside = no_longer_than_alone(", "    no_longer_than_alone(", "tests/judge/test_timing.py"),
    Mutant("a quick measurement that ends with its time may be uneven", "judge/timing.py",
           "return even and stated.high", "return stated.high", "tests/judge/test_timing.py"),
    Mutant("a core that was slower explains long calls too", "judge/timing.py",
           "(core_slower(beside, alone) - 1.0) * share", "core_slower(beside, alone) - 1.0",
           "tests/judge/test_timing.py"),
    Mutant("a core excuses what makes a candidate faster", "judge/timing.py",
           "factor = min(longer, max(excused, stated_of(mine, beside, hand_over_s, count)[0].value))",
           "factor = excused", "tests/judge/test_timing.py"),
    Mutant("of the last rounds all sorts count together", "judge/timing.py",
           "mine, beside = mine.at(stated[-LAST_ROUNDS:]), beside.at(stated[-LAST_ROUNDS:])",
           "mine, beside = mine.at(range(len(mine.round_s))[-8:]), beside.at(range(len(beside.round_s))[-8:])",
           "tests/judge/test_timing.py"),
    Mutant("what a candidate says of a loop is believed", "judge/worker_subject.py",
           "self._loop_s = answer.loop_s if self._loops else 0.0", "self._loop_s = answer.loop_s",
           "tests/judge/test_worker_subject.py"),
    Mutant("an import may run on the core of what is timed", "controller/preparation.py",
           "        os.sched_setaffinity(pid, os.sched_getaffinity(0))\n", "        pass\n",
           "tests/controller/test_preparation.py"),
    Mutant("all outputs of a round have the extents of the first", "judge/output_layouts.py",
           "            if form not in known:", "            if not known:", "tests/judge/test_output_layouts.py"),
    Mutant("a spare worker that died is handed out", "judge/spare_workers.py",
           "if spare.is_ready(self._opens):", "if spare.is_ready():",
           "tests/judge/test_spare_workers.py"),
    Mutant("something is timed while a spare worker starts", "judge/spare_workers.py",
           "            if spare.is_ready():\n                self._spares",
           "            if True:\n                self._spares",
           "tests/judge/test_spare_workers.py"),
    Mutant("single calls that nothing explains never fail", "judge/rounds.py",
           "if not calls or sum(mine.round_s) <= SLOW_SINGLES_S:", "if True:", "tests/judge/test_timing.py"),
    Mutant("few single calls tell, however short they are", "judge/timing.py",
           "min(singles[0].round_s) > LONG_CALL_S", "min(singles[0].round_s) > 0", "tests/judge/test_timing.py"),
    Mutant("a quick measurement ends whatever a kind of contents looks like", "judge/timing.py",
           "if told and even and", "if told and", "tests/judge/test_timing.py"),
    Mutant("marks are not told where calls are settled together", "judge/settled.py",
           "if not of.share <= SETTLES or of.apart:", "if not of.share <= SETTLES:", "tests/judge/test_settled.py"),
    Mutant("a round that tells nothing is repeated for ever", "judge/rounds.py",
           "        if self._unsettled > MOST_UNSETTLED:", "        if False:", "tests/judge/test_timing.py"),
    Mutant("the first call is verified and not the last", "judge/verification.py",
           "return {calls - 1, *", "return {0, *", "tests/judge/test_judge.py"),
    Mutant("a second call on the same inputs is not compared", "judge/comparison.py",
           "        for again in outputs[1:]:", "        for again in outputs[2:]:", "tests/judge/test_judge.py"),
    Mutant("90% instead of 95% of the bootstrap", "judge/statistics.py",
           "PERCENTILES = (2.5, 97.5)", "PERCENTILES = (5, 95)",
           "tests/judge/test_statistics.py"),
    Mutant("faults in a row are never forgotten", "controller/batch.py",
           "self._in_a_row + 1 if met else 0", "self._in_a_row + 1 if met else self._in_a_row",
           "tests/controller/test_batch.py"),
    Mutant("faults in a row of what is tried again are never forgotten", "controller/batch.py",
           "in_a_row + 1 if isinstance(evaluated.fault, MachineError) else 0",
           "in_a_row + isinstance(evaluated.fault, MachineError)", "tests/controller/test_batch.py"),
    Mutant("kernels are built for no architecture", "controller/session.py",
           "                    arch=arch,\n", "                    arch=None,\n", "tests/backends"),
    Mutant("an answer of another job is taken", "controller/session.py",
           "isinstance(message, Seated) or message.job != job.id", "isinstance(message, Seated)",
           "tests/controller/test_session.py"),
    Mutant("the judge takes an answer to another job", "judge/process.py",
           " or answer.job != self._job", "", "tests/judge/test_frames.py"),
    Mutant("a device begins what was handed to it before the end", "controller/engine.py",
           "if self._stopped:\n                    raise GivenUpError",
           "if False:\n                    raise GivenUpError",
           "tests/controller/test_engine.py"),
    Mutant("the judge's flags are not in the record", "controller/evaluate.py",
           "flags=(*draft.flags, *(judgement.flags if judgement else ()))", "flags=draft.flags",
           "tests/controller/test_evaluate.py"),
    Mutant("the roofline is not in the record", "controller/evaluate.py",
           "roofline=judgement.roofline if judgement else None", "roofline=None", "tests/controller/test_evaluate.py"),
    Mutant("the audit is not in the record", "controller/evaluate.py",
           "audit=judgement.audit if judgement else ()", "audit=()", "tests/controller/test_evaluate.py"),
    Mutant("the tolerance is not in the record", "controller/evaluate.py",
           "        tolerance=draft.settings.tolerance,\n", "", "tests/controller/test_evaluate.py"),
    Mutant("the profile is not in the record", "controller/evaluate.py",
           "profile=judgement.profile if judgement else None", "profile=None", "tests/controller/test_evaluate.py"),
    Mutant("the timing is not in the record", "controller/evaluate.py",
           "timing=judgement.timing if judgement else None", "timing=None", "tests/controller/test_evaluate.py"),
    Mutant("the judge passes no flags on", "judge/process.py",
           '                "flags": flags,\n', "", "tests/controller/test_doubted.py"),
    Mutant("the judge passes no audit on", "judge/process.py",
           "                audit=known.findings,\n                substitutions", "                substitutions",
           "tests/controller/test_kept_reference.py"),
    Mutant("the judge goes by its own tolerance", "judge/process.py",
           "                tolerance=settings.tolerance,\n                orders_s", "                orders_s",
           "tests/controller/test_doubted.py"),
    Mutant("what runs after it was stopped is not told", "sandbox/freezer.py",
           "        return used or not set(self._family()) <= set(self._halted)", "        return False",
           "tests/sandbox/test_freezer.py"),
    Mutant("outputs are overwritten before the worker is awake", "judge/worker_subject.py",
           "            self._talk.ask(Attend(), Attending)\n            self._hardware.hold(hold_s)\n"
           "            for fill in fills:\n                fill()\n",
           "            self._hardware.hold(hold_s)\n            for fill in fills:\n                fill()\n"
           "            self._talk.ask(Attend(), Attending)\n",
           "tests/judge/test_worker_subject.py"),
    Mutant("weights are overwritten where outputs lay", "judge/worker_subject.py",
           "        self._opened.unmark()\n        values, arena = self._arenas.share(weights)\n",
           "        values, arena = self._arenas.share(weights)\n", "tests/judge/test_worker_subject.py"),
    Mutant("what the device does once a worker is stopped counts nothing", "judge/worker_subject.py",
           "            with self._besides_rounds():\n                self._hardware.touch()",
           "            if True:\n                self._hardware.touch()", "tests/judge/test_worker_subject.py"),
    Mutant("a worker runs while its outputs are compared", "judge/worker_subject.py",
           "        if held:\n            self.freeze()",
           "        if held and not self._apart:\n            self.freeze()",
           "tests/judge/test_worker_subject.py"),
    Mutant("single calls that say less are not confirmed", "judge/timing.py",
           "            self._singles(self.singles, MORE_SINGLE_CALLS)", "            pass",
           "tests/judge/test_timing.py"),
    Mutant("a call on a device that comes alone is over once it is answered", "judge/device_steps.py",
           "return ended[look]", "return ended[-1]",
           "tests/judge/test_device_steps.py"),
    Mutant("an output that cannot be seen takes until it is answered", "judge/device_steps.py",
           "            self._lost = True\n", "", "tests/judge/test_device_steps.py"),
    Mutant("what is read of an output lies so far apart for each call", "judge/device_steps.py",
           "chance.randint(size // (2 * count), size // count)", "size // count",
           "tests/judge/test_device_steps.py"),
    Mutant("an output that stays the same is there at once", "judge/device_steps.py",
           "if is_last(_BEFORE):", "if False:",
           "tests/judge/test_device_steps.py"),
    Mutant("one late look makes the first ones later", "judge/device_steps.py",
           "return min(median(self._looks_s), _LONGEST_PERIOD_S) if self._looks_s else _PERIOD_S",
           "return max(self._looks_s, default=_PERIOD_S)", "tests/judge/test_device_steps.py"),
    Mutant("a worker that is late takes the first call for one before", "worker/serve.py",
           '== "cuda", 0  # as', '== "cuda", words[SHOWN]  # as',
           "tests/judge/test_device_steps.py"),
    Mutant("calls that come one by one may take seconds each", "judge/rounds.py",
           "if mine_s > PAUSED_TIMES * max([*others, *usual, 0.0]):", "if False:", "tests/judge/test_timing.py"),
    Mutant("a round of calls one by one is repeated with as many", "judge/rounds.py",
           "            count = calls or self._chance.randint(1, most)\n",
           "            calls = count = calls or self._chance.randint(1, most)\n",
           "tests/judge/test_timing.py"),
    Mutant("what outputs are written over with tells the seed of contents", "judge/device_steps.py",
           "self._noise.numpy()[:] = np.frombuffer(os.urandom(_WHOLE_BYTES), dtype=np.uint8)",
           "self._noise.random_(256)", "tests/judge/test_device_steps.py"),
    Mutant("a kernel may wait for calls in fewer than half of the rounds", "judge/rounds.py",
           "return percentile(mine_s, BUSY_AT) >", "return median(mine_s) >", "tests/judge/test_timing.py"),
    Mutant("a call's own seed is there while its contents come", "judge/device_steps.py",
           "        self._show(staged)\n        words[SEED] = own_seed",
           "        words[SEED] = own_seed\n        self._show(staged)\n        words[SEED] = own_seed",
           "tests/judge/test_device_steps.py"),
    Mutant("what an output had in another round is written over", "judge/device_steps.py",
           "            if follower in self._had:", "            if True:", "tests/judge/test_device_steps.py"),
    Mutant("a candidate may have its calls not come one by one", "judge/timing.py",
           "        if theirs and not mine and is_alone:", "        if False:", "tests/judge/test_timing.py"),
    Mutant("a plain value that one side's sets drew is the candidate's fault", "judge/timing.py",
           "        if theirs and not mine and is_alone:", "        if theirs and not mine:",
           "tests/judge/test_timing.py"),
    Mutant("calls one by one have contents on which nearly all of an output is one value", "judge/outputs_seen.py",
           "            self.flat_narrow |= is_flat\n", "            pass\n", "tests/judge/test_outputs_seen.py"),
    Mutant("calls one by one that say less are no more than others", "judge/timing.py",
           "are_few = less and taken < SURE_STEPS", "are_few = less and taken < 0", "tests/judge/test_timing.py"),
    Mutant("a last call may have another output than it was answered with", "judge/device_steps.py",
           "if not self._anew and done.addresses[0] != self._answered:", "if False:",
           "tests/judge/test_device_steps.py"),
    Mutant("where memory is tight no calls come one by one", "judge/timing.py",
           "return is_short and self._plan.steps and self._copies_of_a_look() > 0",
           "return is_short and self._plan.steps and not self._tight and self._copies_of_a_look() > 0",
           "tests/judge/test_timing.py"),
    Mutant("of rows that lie far apart the first is read", "judge/device_steps.py",
           "return first + chance.randrange(count) * pitch, run, run, 1", "return first, run, run, 1",
           "tests/judge/test_device_steps.py"),
    Mutant("calls that come one by one have one kind of contents", "judge/timing.py",
           "self._step_of_both(kind or next(in_turn), most_calls)", "self._step_of_both(self._base, most_calls)",
           "tests/judge/test_timing.py"),
    Mutant("of calls one by one no sort of contents counts alone", "judge/one_by_one.py",
           "return next(iter(worse), whole)", "return whole", "tests/judge/test_timing.py"),
    Mutant("of calls one by one no kind of contents counts alone", "judge/one_by_one.py",
           "less = [one for one in least if _is_less(one, beside)]", "less = list[Interval]()",
           "tests/judge/test_one_by_one.py"),
    Mutant("a kind of contents that says less one by one has no more rounds", "judge/timing.py",
           "kind = suspect(self.singles, others, beside, by=by)", "kind = None",
           "tests/judge/test_timing.py"),
    Mutant("single calls have the base kind of contents alone", "judge/timing.py",
           "            self._singles_of(other, singles, at_once)\n", "            pass\n",
           "tests/judge/test_timing.py"),
    Mutant("what calls one by one differ by is a share of what others take", "judge/one_by_one.py",
           "return self.usual_ms.get(kind, self.reference_ms)", "return self.reference_ms",
           "tests/judge/test_one_by_one.py"),
    Mutant("a kind of contents is apart by noise", "judge/one_by_one.py",
           "max(APART * whole, least)", "APART * whole", "tests/judge/test_one_by_one.py"),
    Mutant("of calls one by one the last alone is verified", "judge/rounds.py",
           "min(VERIFIED_STEPS, count - 1)", "0", "tests/judge/test_timing.py"),
    Mutant("calls one by one that were let go of are right", "judge/verification.py",
           "                self.comparison.hold(output, expected, question)\n", "                pass\n",
           "tests/judge/test_judge.py"),
    Mutant("small outputs are not written over between calls", "judge/device_steps.py",
           "                self._write_over(follower, [one.address for one in held])\n", "                pass\n",
           "tests/judge/test_device_steps.py"),
    Mutant("what a call may hand out again is written over", "judge/device_steps.py",
           "if is_small and place not in self.spared and", "if is_small and", "tests/judge/test_device_steps.py"),
    Mutant("an output in its inputs is looked for where the one before lay", "judge/device_steps.py",
           "begins - address - 1 if 0 <= address - begins < staged.size else address for address in named",
           "address for address in named", "tests/judge/test_device_steps.py"),
    Mutant("calls one by one have one seed though the reference draws", "judge/rounds.py",
           "for _ in range(count)] if self._own_seeds else []", "for _ in range(count)] if False else []",
           "tests/judge/test_timing.py"),
    Mutant("what a side takes to be ready for calls is no pause", "judge/rounds.py",
           "        self.pause_s[id(side)][-1] += stepped.waited_s\n", "", "tests/judge/test_timing.py"),
    Mutant("large contents come by a copy engine piece by piece", "judge/inputs.py",
           "        if not self.is_staged:\n", "        if False:\n", "tests/judge/test_device_steps.py"),
    Mutant("of calls that come one by one on a device the cold ones count", "judge/rounds.py",
           "cold = min(COLD_STEPS, max(1, most // COLD_SHARE))", "cold = 1", "tests/judge/test_timing.py"),
    Mutant("a slow second of the host is what calls one by one take", "judge/timing.py",
           "for look in range(1 + MORE_LOOKS):\n        if look:", "for look in range(1):\n        if look:",
           "tests/judge/test_timing.py"),
    Mutant("small contents wait for the switch to the judge", "backends/cuda/copy_engines.py",
           "if size >= _LEAST_BYTES or size % 2:", "if True:", "tests/backends/test_copy_engines.py"),
    Mutant("outputs that take turns are looked at where the last one lay", "judge/device_steps.py",
           "return self._follows.get(self._before, self._follows.get((last,), last))", "return last",
           "tests/judge/test_device_steps.py"),
    Mutant("what waits on the device for a call is not looked for", "judge/rounds.py",
           "return percentile(mine_s, BUSY_AT) > PAUSE_FACTOR * median(theirs_s) + TOUCH_S", "return False",
           "tests/judge/test_timing.py"),
    Mutant("calls of the reference one by one count as long as a candidate makes them", "judge/one_by_one.py",
           "        return max(seconds for seconds in alone.round_s if seconds <= own_s * ALIKE_ALONE)",
           "        return math.inf", "tests/judge/test_one_by_one.py"),
    Mutant("calls one by one count as long as alone on other contents", "judge/one_by_one.py",
           "if seconds <= own_s * ALIKE_ALONE)", "if seconds <= own_s * 100)", "tests/judge/test_one_by_one.py"),
    Mutant("a quick measurement has no calls come one by one", "judge/timing.py",
           "            self.take_steps_quickly()\n", "", "tests/judge/test_timing.py"),
    Mutant("a quick measurement waits for a core of the host whatever it says", "judge/timing.py",
           "excused = quick and measured.timing.speedup.value <= 1.0", "excused = False",
           "tests/judge/test_timing.py"),
    Mutant("a quick measurement that a core excuses is not looked at again", "judge/timing.py",
           "excused = quick and measured.timing.speedup.value <= 1.0", "excused = quick",
           "tests/judge/test_timing.py"),
    Mutant("a reference that seems slowed is looked at once", "judge/timing.py",
           "if slowed.low <= (1 + allowed) * core:  # which noise explains, or the core\n", "if True:\n",
           "tests/judge/test_timing.py"),
)  # fmt: skip


def failed_test(mutant: Mutant) -> str | None:
    """The first test that fails on a copy of the tree with the change in it; None where all pass."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(
            ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "results", "*.egg-info"
        )
        shutil.copytree(ROOT, copy, ignore=left_out)
        path = copy / "harness" / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            raise SystemExit(f"{mutant.name}: the line is not in {mutant.file} any more, or not once: mend the list")
        path.write_text(text.replace(mutant.old, mutant.new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests.split()]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        if run.returncode not in (0, 1):
            raise SystemExit(f"{mutant.name}: pytest ended with {run.returncode}\n{run.stdout[-2000:]}")
        failed = re.search(r"^FAILED (\S+)", run.stdout, re.MULTILINE)
        if failed is None and run.returncode:
            raise SystemExit(f"{mutant.name}: no test failed, and one could not run\n{run.stdout[-2000:]}")
        return failed[1] if failed else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="those whose name holds this text")
    parser.add_argument("-o", "--output", type=Path, help="where the results go, as JSON")
    options = parser.parse_args()
    wanted = [mutant for mutant in MUTANTS if options.only in mutant.name]
    if not wanted:
        parser.error(f"no mutant's name holds {options.only!r}")
    results = []
    for mutant in wanted:
        started = time.monotonic()
        failed = failed_test(mutant)
        print(f"{'dies' if failed else 'SURVIVES':<9} {mutant.name}  {failed or ''}", flush=True)
        seconds = round(time.monotonic() - started, 1)
        results.append({"mutant": mutant.name, "file": mutant.file, "failed": failed, "seconds": seconds})
    survivors = sum(result["failed"] is None for result in results)
    print(f"{survivors} of {len(results)} survive")
    if options.output:
        found = {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
            "python": platform.python_version(),
            "survivors": survivors,
            "mutants": results,
        }
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
