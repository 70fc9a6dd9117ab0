"""The paper's robust methods on one batch that fits in memory: RC-PCA and RoTR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.estimators._device import take_rows
from robustream.estimators._few_rows import say_few_rows, say_flat_rows, warn_of_few_rows
from robustream.estimators.pca import Principal, ProjectionMixin, check_n_components
from robustream.estimators.regression import Linear, LinearMixin, validate_targets
from robustream.kernels.device_arrays import is_device_array, library_of
from robustream.kernels.threads import one_blas_thread
from robustream.learners import Learner, LinearProblem, PrincipalProblem, Trimmed
from robustream.learners.device import OnDevice
from robustream.runs.run import unchanged_on_error
from robustream.spaces import Point, PrincipalModels
from robustream.spaces.linear import LinearPoint

__all__ = ["TrimmedPCA", "TrimmedRegressor"]


class TrimmedPCA(ProjectionMixin, BaseEstimator):
    """RC-PCA (Alg. 3): principal components of the matrix of trimmed inner products.

    Trimming shrinks variances, so that `explained_variance_` is too small; the directions are what it is for.

    Parameters
    ----------
    n_components : int, default=2
        The number of components.
    trim : float, default=0.5
        The share of products to trim, in [0, 1); half if the share of outliers is unknown.
    center : bool, default=True
        Whether to centre the columns by their medians.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 3)) * [5.0, 1.0, 1.0]
    >>> rows[:200] = rng.uniform(-500, 500, size=(200, 3))
    >>> np.abs(rs.TrimmedPCA(1, trim=0.2).fit(rows).components_).round(1)
    array([[1., 0., 0.]])
    """

    answer_names: ClassVar[tuple[str, ...]] = (*ProjectionMixin.answer_names, "n_components_")

    def __init__(self, n_components: int = 2, trim: float = 0.5, center: bool = True) -> None:
        self.n_components = n_components
        self.trim = trim
        self.center = center

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows; `y` is ignored."""
        with unchanged_on_error(self):
            recipe = Trimmed(self.trim, center=bool(self.center))
            rows = take_rows(self, X, reset=True, minimum=2)
            components = check_n_components(self.n_components, rows.shape[1])
            learner = recipe.pca(PrincipalProblem(components))
            point = _solve(learner, Batch(0, "X", rows))
            answer = PrincipalModels(rows.shape[1], components).answer_of(point)
            self._library = library_of(X)
            self._fitted = Principal.of(answer, answer.spectrum, answer.cutoffs)
        said = say_flat_rows(len(rows), components, f"{components} components of {rows.shape[1]} columns and noise")
        warn_of_few_rows(said)
        return self

    def restore(self, answer: Mapping[str, Any]) -> None:
        """Take over what another one has learned: its answer, as from a file."""
        self._fitted = Principal.from_answer(answer, self.n_features_in_)

    def _principal(self) -> Principal:
        check_is_fitted(self, "_fitted")
        return self._fitted


class TrimmedRegressor(LinearMixin, BaseEstimator):
    """RoTR (Alg. 5): each coefficient is the trimmed inner product of its column with the target.

    It presumes uncorrelated columns, and trimming shrinks the coefficients: with half of the products trimmed
    their direction is about right and their length far too small.

    Parameters
    ----------
    trim : float, default=0.5
        The share of products to trim, in [0, 1); half if the share of outliers is unknown.
    fit_intercept : bool, default=True
        Whether to centre columns and target by their medians and to estimate an intercept.
    scale : bool, default=True
        Whether to bring the columns to unit scale by their median absolute deviations.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 2))
    >>> target = rows @ [1.0, -1.0] + 0.1 * rng.normal(size=1000)
    >>> np.sign(rs.TrimmedRegressor(trim=0.2).fit(rows, target).coef_)
    array([ 1., -1.])
    """

    def __init__(self, trim: float = 0.5, fit_intercept: bool = True, scale: bool = True) -> None:
        self.trim = trim
        self.fit_intercept = fit_intercept
        self.scale = scale

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows."""
        with unchanged_on_error(self):
            recipe = Trimmed(self.trim, center=bool(self.fit_intercept), scale=bool(self.scale))
            rows, targets, single = validate_targets(self, X, y, reset=True, minimum=2)
            learner = recipe.regression(LinearProblem(bool(self.fit_intercept)))
            point = LinearPoint(*_solve(learner, Batch(0, "X", rows, targets)))  # type: ignore[arg-type]
            intercept, spread = point.y_center - point.coef @ point.x_center, np.exp(point.log_scale)
            found = Linear(point.coef, intercept, spread, float(np.exp(point.log_cutoff)))
            self._library = library_of(X)
            self._fitted = (
                found._replace(coef=found.coef[0], intercept=intercept[0], scale=spread[0]) if single else found
            )
        warn_of_few_rows(say_few_rows(len(rows), rows.shape[1] + bool(self.fit_intercept)))
        return self

    def restore(self, answer: Mapping[str, Any]) -> None:
        """Take over what another one has learned: its answer, as from a file."""
        self._fitted = Linear.from_answer(answer, self.n_features_in_)

    def _linear(self) -> Linear:
        check_is_fitted(self, "_fitted")
        return self._fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With half of the products trimmed the coefficients are rightly far too short.
        tags.regressor_tags.poor_score = True
        return tags


@one_blas_thread()
def _solve(learner: Learner, batch: Batch) -> Point:
    placed = OnDevice(learner) if is_device_array(batch.X) else learner
    estimate = placed.estimate(batch, np.random.default_rng(0))
    if estimate.point is None:
        raise InvalidInputError(f"no estimate could be made of X: {estimate.failure}")
    return estimate.point
