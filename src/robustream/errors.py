"""The errors that robustream raises on purpose; each message says what came, what was needed and what to do."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

__all__ = [
    "BelowQuorumError",
    "CheckpointError",
    "DamagedFileError",
    "DeviceError",
    "EngineError",
    "FailedBatchError",
    "FewRowsWarning",
    "InvalidInputError",
    "NewerFormatError",
    "NotEnoughRowsError",
    "ReadOnceWarning",
    "RequestError",
    "RobustreamError",
    "RowsLeftOutWarning",
    "StorageError",
    "UnsupportedEstimatorError",
]


class RobustreamError(Exception):
    """The root of this tree, for callers who want to catch all of it.

    `arguments` names the arguments of Python that the message is about, such as `n_components`; the command line adds
    its own names for them.
    """

    def __init__(self, message: str, *arguments: str) -> None:
        super().__init__(message)
        self.arguments = arguments


class InvalidInputError(RobustreamError, ValueError):
    """An argument or an array cannot be used; nothing was changed."""


class NotEnoughRowsError(RobustreamError, NotFittedError):
    """The model has seen rows, but too few for any estimate yet."""


class BelowQuorumError(RobustreamError, RuntimeError):
    """Too few usable estimates to trust any aggregate of them; `partial` holds what there is, for a second try."""

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial


class UnsupportedEstimatorError(RobustreamError, TypeError):
    """The parameters of this scikit-learn estimator cannot be averaged or compared."""


class DamagedFileError(RobustreamError, ValueError):
    """A file or message is not what robustream wrote: cut short, changed, or something else altogether."""


class NewerFormatError(RobustreamError, ValueError):
    """A file was written by a later version of robustream, in a format that this one does not know."""


class StorageError(RobustreamError, OSError):
    """A file could not be written; the one that was there before is still there."""


class RequestError(RobustreamError, OSError):
    """What lies at an address could not be had: no answer, no bucket, no permission; the message has no secrets."""


class EngineError(RobustreamError, RuntimeError):
    """An engine is missing, cannot start its workers, or has lost all of them."""


class DeviceError(RobustreamError, RuntimeError):
    """A GPU was asked for, and there is none, or none that works."""


class CheckpointError(RobustreamError, ValueError):
    """A checkpoint belongs to other data or other settings, or there is something in its way."""


class FailedBatchError(RobustreamError, RuntimeError):
    """A batch could not be used, and the run was told to stop then."""


class FewRowsWarning(UserWarning):
    """There are fewer rows than numbers to be learned: many answers fit them exactly."""


class ReadOnceWarning(UserWarning):
    """A checkpoint was asked for of rows that can be read only once: to go on, they must be had anew."""


class RowsLeftOutWarning(UserWarning):
    """A quarter of the rows or more was left out: bad, or a second honest population, which rows alone cannot tell."""
