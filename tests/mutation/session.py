"""Runs the tests of an area once for each mutant, in processes that begin where the tests have been collected.

Collecting costs more than most mutants need to be found out. So the tests are collected once; for each mutant the
process forks, the copy exchanges the code of the function that was changed, and runs the tests to the first failure.
A mutant that cannot be put in so, or that no test noticed, is tried again from the start: an import hook gives the
changed module to a new process.
"""

import ast
import gc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

import hypothesis
import pytest

from tests.mutation.areas import ROOT
from tests.mutation.mutants import Mutant, mutated

# How a copy ends that could not put its mutant in.
UNFIT: Final = 70
# How much longer than without a mutant the tests may take, and the least they may take, in seconds of the processor.
FACTOR: Final = 3
LEAST: Final = 20
# Where nothing computes and all wait, there is no processor time to measure: this many times the limit, by the clock.
WAITING: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a mutant: `killed`, `survived`, `timed out` (also killed) or `unfit`; and the test that failed."""

    what: str
    by: str = ""
    seconds: float = 0.0


@dataclass
class Forks:
    """The pytest plugin: in the place of one run of the tests, one run in a process of its own for each mutant."""

    mutants: Sequence[Mutant]
    jobs: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    is_copy: bool = False
    baseline: float = 0.0
    failed: str = ""
    _report: int = -1
    _functions: dict[str, list[FunctionType]] = field(default_factory=dict)
    _killers: dict[str, list[str]] = field(default_factory=dict)
    _running: dict[int, tuple[Mutant | None, int, float]] = field(default_factory=dict)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Makes no property smaller; a counterexample is enough, the smallest is not needed."""
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        settings = hypothesis.settings(hypothesis.settings(), phases=phases, database=None)
        hypothesis.settings.register_profile("mutation", settings)
        hypothesis.settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """In the first process: forks and waits. In a copy: None, so that the tests run."""
        if session.testsfailed:
            return None
        self._functions = functions()
        # A page that no copy writes to is shared by all of them.
        gc.freeze()
        if self._forked(session, None):
            return None
        self._wait()
        if self.baseline == 0.0:
            return True
        for mutant in self.mutants:
            while len(self._running) >= self.jobs:
                self._wait()
            if self._forked(session, mutant):
                return None
        while self._running:
            self._wait()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tells the first process which test failed."""
        if self._report >= 0 and report.failed:
            os.write(self._report, report.nodeid.encode())

    def _forked(self, session: pytest.Session, mutant: Mutant | None) -> bool:
        """Whether this is the copy now."""
        reading, writing = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            os.close(writing)
            self._running[pid] = (mutant, reading, time.monotonic())
            return False
        self.is_copy, self._report = True, writing
        os.setpgid(0, 0)
        if mutant is None:
            return True
        limit = int(self.limit)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not exchange(mutant, self._functions.get(str(ROOT / mutant.path), [])):
            os._exit(UNFIT)
        known = self._killers.get(mutant.path, [])
        session.items.sort(key=lambda item: known.index(item.nodeid) if item.nodeid in known else len(known))
        return True

    @property
    def limit(self) -> float:
        """How long a mutant's tests may take, in seconds of the processor."""
        return LEAST + FACTOR * self.baseline

    def _wait(self) -> None:
        """Until one copy has ended."""
        while True:
            for pid, (mutant, reading, since) in list(self._running.items()):
                ended, status, used = os.wait4(pid, os.WNOHANG)
                late = mutant is not None and time.monotonic() - since > WAITING * self.limit
                if not ended and late:
                    os.killpg(pid, signal.SIGKILL)
                    ended, status, used = os.wait4(pid, 0)
                if ended:
                    del self._running[pid]
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    by = os.read(reading, 65536).decode(errors="replace")
                    os.close(reading)
                    self._ended(mutant, status, by, used.ru_utime + used.ru_stime)
                    return
            time.sleep(0.02)

    def _ended(self, mutant: Mutant | None, status: int, by: str, seconds: float) -> None:
        if mutant is None:
            if status == 0:
                self.baseline = max(seconds, 0.01)
            else:
                self.failed = by or f"the process ended with {status}"
            return
        outcome = _outcome(status, by, seconds)
        self.outcomes[mutant.key] = outcome
        if outcome.what == "killed" and by:
            known = self._killers.setdefault(mutant.path, [])
            if by in known:
                known.remove(by)
            known.insert(0, by)
            del known[20:]


def _outcome(status: int, by: str, seconds: float) -> Outcome:
    if os.WIFSIGNALED(status):
        return Outcome("timed out", by, seconds)
    code = os.WEXITSTATUS(status)
    if code == UNFIT:
        return Outcome("unfit")
    return Outcome("survived" if code == 0 else "killed", by, seconds)


def functions() -> dict[str, list[FunctionType]]:
    """The functions of this process by the file that they stand in."""
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def exchange(mutant: Mutant, loaded: Sequence[FunctionType]) -> bool:
    """Gives each loaded function of the changed module the code that it has in the mutant; whether that is all of the
    change."""
    path = ROOT / mutant.path
    text = path.read_text(encoding="utf-8")
    wanted = dict(_codes(compile(mutated(text, mutant.index), str(path), "exec")))
    before = dict(_codes(compile(ast.parse(text), str(path), "exec")))
    changed = {place for place, code in wanted.items() if place not in before or _told(before[place]) != _told(code)}
    done = set()
    for function in loaded:
        place = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        if place in changed:
            try:
                function.__code__ = wanted[place]
            except ValueError:
                return False
            done.add(place)
    # A function inside a function is made anew by the one around it.
    return bool(changed) and all(_made_by(place, done) for place in changed)


def _made_by(place: tuple[str, int], done: set[tuple[str, int]]) -> bool:
    return any(place == one or place[0].startswith(f"{one[0]}.<locals>.") for one in done)


def _told(code: CodeType) -> tuple[object, ...]:
    """What a code object does, code inside it included."""
    inner = tuple(_told(one) if isinstance(one, CodeType) else (type(one), repr(one)) for one in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, inner


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield (one.co_qualname, one.co_firstlineno), one
            yield from _codes(one)


class _Loader(SourceFileLoader):
    """Loads one module with a mutant in it."""

    def __init__(self, fullname: str, path: str, index: int) -> None:
        super().__init__(fullname, path)
        self._index = index

    def get_code(self, fullname: str) -> CodeType:
        """Compiles anew: what is cached is the module as it should be."""
        text = Path(self.path).read_text(encoding="utf-8")
        return compile(mutated(text, self._index), self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds the module that is mutated, and no other."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module with its loader, where it is the one."""
        if fullname != self._mutant.module:
            return None
        where = str(ROOT / self._mutant.path)
        return importlib.util.spec_from_file_location(
            fullname, where, loader=_Loader(fullname, where, self._mutant.index)
        )


def imported(mutant: Mutant) -> None:
    """From now on the module is imported with the mutant in it."""
    sys.meta_path.insert(0, _Finder(mutant))
