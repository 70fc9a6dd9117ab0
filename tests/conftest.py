"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# Machines differ and are shared: how long an example takes says nothing about the code. The same examples are
# drawn on every run, so that a failure can be seen again.
settings.register_profile("robustream", deadline=None, derandomize=True)
settings.load_profile("robustream")
