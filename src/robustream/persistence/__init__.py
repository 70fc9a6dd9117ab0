"""Models and checkpoints as files."""

from robustream.persistence.checkpoint import Checkpoint, read_checkpoint, why_not, write_checkpoint
from robustream.persistence.describing import Description, describe
from robustream.persistence.models import load, load_with_extra, save
from robustream.persistence.settings import settings_of

__all__ = [
    "Checkpoint",
    "Description",
    "describe",
    "load",
    "load_with_extra",
    "read_checkpoint",
    "save",
    "settings_of",
    "why_not",
    "write_checkpoint",
]
