"""The errors that robustream raises on purpose; each message says what came, what was needed and what to do."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

__all__ = [
    "BelowQuorumError",
    "InvalidInputError",
    "NotEnoughRowsError",
    "RobustreamError",
    "UnsupportedEstimatorError",
]


class RobustreamError(Exception):
    """The root of this tree, for callers who want to catch all of it."""


class InvalidInputError(RobustreamError, ValueError):
    """An argument or an array cannot be used; nothing was changed."""


class NotEnoughRowsError(RobustreamError, NotFittedError):
    """The model has seen rows, but too few for any estimate yet."""


class BelowQuorumError(RobustreamError, RuntimeError):
    """Too few usable estimates to trust any aggregate of them."""


class UnsupportedEstimatorError(RobustreamError, TypeError):
    """The parameters of this scikit-learn estimator cannot be averaged or compared."""
