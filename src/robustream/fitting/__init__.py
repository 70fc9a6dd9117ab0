"""`robustream.fit`: any estimator over any source, with progress, checkpoints and an early stop."""

from robustream.fitting.events import FitEvent
from robustream.fitting.fit import fit

__all__ = ["FitEvent", "fit"]
