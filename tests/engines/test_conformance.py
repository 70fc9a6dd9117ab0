"""Every exported engine passes the public checks, by discovery."""

from __future__ import annotations

import pytest

from robustream import testing
from robustream.engines import InProcessEngine
from robustream.testing.engines import check_each_result_comes_once, check_tasks_are_pulled_as_needed

MAKERS = dict(testing.discover_engines())


@pytest.fixture(scope="module", params=MAKERS)
def engine(request):
    """One engine for all checks: each finds it as the one before left it."""
    with MAKERS[request.param]() as engine:
        yield engine


@pytest.mark.parametrize("check", testing.ENGINE_CHECKS, ids=lambda check: check.__name__)
def test_engine(engine, check):
    check(engine)


@pytest.mark.parametrize("check", testing.ISOLATED_ENGINE_CHECKS, ids=lambda check: check.__name__)
def test_isolated_engine(engine, check):
    if not engine.isolated:
        pytest.skip("its tasks run in this process: one that dies or blocks takes the tests along")
    check(engine)


def test_it_works_after_all_that(engine):
    check_each_result_comes_once(engine)


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_left_running(name):
    testing.check_nothing_is_left_running(MAKERS[name])


def test_an_engine_that_loses_results_is_caught():
    class Forgetful(InProcessEngine):
        def imap(self, fn, tasks, **options):
            return (result for result in super().imap(fn, tasks, **options) if result.index != 7)

    with pytest.raises(AssertionError):
        check_each_result_comes_once(Forgetful())


def test_an_engine_that_reads_ahead_is_caught():
    class Greedy(InProcessEngine):
        def imap(self, fn, tasks, **options):
            return super().imap(fn, [task for task, _ in zip(tasks, range(100), strict=False)], **options)

    with pytest.raises(AssertionError):
        check_tasks_are_pulled_as_needed(Greedy())
