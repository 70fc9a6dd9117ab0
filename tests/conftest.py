"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings
from threadpoolctl import threadpool_limits

# Machines differ and are shared: how long an example takes says nothing about the code. The same examples are
# drawn on every run, so that a failure can be seen again.
settings.register_profile("robustream", deadline=None, derandomize=True)
settings.load_profile("robustream")

# The tests run in as many processes as there are cores: threads within would only get in each other's way.
threadpool_limits(1)
