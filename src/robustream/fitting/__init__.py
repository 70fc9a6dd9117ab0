"""`robustream.fit`: any estimator over any source, with progress, checkpoints and an early stop."""

from robustream.fitting.events import FitEvent
from robustream.fitting.fit import fit
from robustream.fitting.late import fold_in_late

__all__ = ["FitEvent", "fit", "fold_in_late"]
