"""Public conformance checks: what every space, learner, aggregator, source and engine must do.

Each check is a small function with a name that says what it demands; it raises AssertionError if the demand is
not met. Run all of them over your own object:

>>> from robustream.testing import check_aggregator
>>> from robustream.aggregators import GeometricMedian
>>> check_aggregator(GeometricMedian(budget=100))

or give `AGGREGATOR_CHECKS` and its siblings to `pytest.mark.parametrize`, one test for each. `discover` lists what
the library itself has, so that a new class is checked as soon as it is exported.
"""

from robustream.testing.aggregators import AGGREGATOR_CHECKS, check_aggregator
from robustream.testing.discovery import (
    discover_aggregators,
    discover_engines,
    discover_learners,
    discover_sources,
    discover_spaces,
)
from robustream.testing.engines import (
    ENGINE_CHECKS,
    ISOLATED_ENGINE_CHECKS,
    check_engine,
    check_nothing_is_left_running,
)
from robustream.testing.learners import LEARNER_CHECKS, check_learner
from robustream.testing.sources import SOURCE_CHECKS, check_source
from robustream.testing.spaces import SPACE_CHECKS, check_space

__all__ = [
    "AGGREGATOR_CHECKS",
    "ENGINE_CHECKS",
    "ISOLATED_ENGINE_CHECKS",
    "LEARNER_CHECKS",
    "SOURCE_CHECKS",
    "SPACE_CHECKS",
    "check_aggregator",
    "check_engine",
    "check_learner",
    "check_nothing_is_left_running",
    "check_source",
    "check_space",
    "discover_aggregators",
    "discover_engines",
    "discover_learners",
    "discover_sources",
    "discover_spaces",
]
