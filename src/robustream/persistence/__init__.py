"""Models as files, and plain facts about model and checkpoint files."""

from robustream.persistence.describe import Description, describe
from robustream.persistence.model import load, load_with_extra, save

__all__ = ["Description", "describe", "load", "load_with_extra", "save"]
