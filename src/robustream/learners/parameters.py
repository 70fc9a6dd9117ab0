"""Which fitted attributes of a scikit-learn estimator can be aggregated over batches, and which estimators cannot.

An attribute can be aggregated when the same entry means the same thing in every batch. Families are recognised
by the names of scikit-learn's base classes, so that nothing of scikit-learn is imported for the look-up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from robustream.errors import InvalidInputError, UnsupportedEstimatorError

__all__ = ["Parameter", "choose_parameters"]

ClassRows = Literal["never", "always", "above two"]
Scale = Literal["plain", "log", "probability", "log probability"]


class Parameter(NamedTuple):
    """A fitted attribute: whether its rows belong to classes, and on which scale it is averaged."""

    name: str
    class_rows: ClassRows = "never"
    scale: Scale = "plain"


_LINEAR = (Parameter("coef_", "above two"), Parameter("intercept_", "above two"))
_DISCRETE_BAYES = (
    Parameter("feature_log_prob_", "always"),
    Parameter("class_log_prior_", "always", "log probability"),
)
_GAUSSIAN_BAYES = (
    Parameter("theta_", "always"),
    Parameter("var_", "always", "log"),
    Parameter("class_prior_", "always", "probability"),
)

# The first name found among the bases decides, so that the special stand before the general.
_KNOWN: dict[str, tuple[Parameter, ...]] = {
    "GaussianNB": _GAUSSIAN_BAYES,
    "MultinomialNB": _DISCRETE_BAYES,
    "BernoulliNB": _DISCRETE_BAYES,
    "LinearModel": _LINEAR,
    "LinearClassifierMixin": _LINEAR,
    "_GeneralizedLinearRegressor": _LINEAR,
    "BaseSGD": _LINEAR,
    "LinearSVR": _LINEAR,
}

_REFUSED: dict[str, str] = {
    "BaseDecisionTree": "the splits of one tree have no counterpart in another",
    "BaseForest": "the splits of one tree have no counterpart in another",
    "BaseGradientBoosting": "the splits of one tree have no counterpart in another",
    "BaseHistGradientBoosting": "the splits of one tree have no counterpart in another",
    "BaseEnsemble": "its members have no counterpart in another ensemble",
    "ClusterMixin": "clusters come in no fixed order, so those of two batches cannot be matched entry by entry",
    "BaseMultilayerPerceptron": "hidden units come in no fixed order, so weights of two networks cannot be averaged",
    "_BasePCA": "components have no fixed order or sign; use robustream.OutlierRobustPCA, which compares subspaces",
    "NeighborsBase": "its model is the rows themselves",
    "BaseLibSVM": "its model is a choice of rows (support vectors); a linear one, such as LinearSVC, works",
    "GaussianProcessRegressor": "its model is the rows themselves",
    "GaussianProcessClassifier": "its model is the rows themselves",
    "MetaEstimatorMixin": "its own parameters lie in inner estimators; wrap the inner estimator instead",
    "_BaseComposition": "its own parameters lie in inner estimators; put OutlierRobust around the last step instead",
}


def choose_parameters(estimator: Any, names: Iterable[str] | None) -> tuple[Parameter, ...]:
    """Give the attributes to aggregate for an estimator, or say why there are none.

    >>> from sklearn.linear_model import Ridge
    >>> [parameter.name for parameter in choose_parameters(Ridge(), None)]
    ['coef_', 'intercept_']
    """
    kind = type(estimator)
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise UnsupportedEstimatorError(f"estimator must be an instance of a scikit-learn estimator, got {estimator!r}")
    bases = [base.__name__ for base in kind.__mro__]
    for base in bases:
        if base in _REFUSED:
            raise UnsupportedEstimatorError(f"{kind.__name__} cannot be aggregated over batches: {_REFUSED[base]}")
    known = next((_KNOWN[base] for base in bases if base in _KNOWN), None)
    if names is None:
        if known is None:
            raise UnsupportedEstimatorError(
                f"which fitted attributes of {kind.__name__} to aggregate is not known; "
                "name them, e.g. parameters=['coef_', 'intercept_']"
            )
        return known
    chosen = [names] if isinstance(names, str) else list(names)
    if not chosen or not all(isinstance(name, str) and name.endswith("_") for name in chosen):
        raise InvalidInputError(f"parameters must name fitted attributes (they end with an underscore), got {names!r}")
    by_name = {parameter.name: parameter for parameter in known or ()}
    return tuple(by_name.get(name, Parameter(name, "above two")) for name in chosen)
