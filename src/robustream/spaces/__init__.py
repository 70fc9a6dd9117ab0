"""Where estimates live: what they are, how far apart, how they mix."""

from robustream.spaces.base import Array, Point, Points, Space
from robustream.spaces.covariance import CovarianceModels
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.factored import LowRank, Subspace
from robustream.spaces.linear import LinearModels
from robustream.spaces.moments import MomentModels
from robustream.spaces.principal import PrincipalModels
from robustream.spaces.product import Chance, Law, Part, PartMean, Parts, Places, ProductSpace, Quantity, Settled
from robustream.spaces.reasons import say_differences, say_factor

__all__ = [
    "Array",
    "Chance",
    "CovarianceModels",
    "Euclidean",
    "Law",
    "LinearModels",
    "LowRank",
    "MomentModels",
    "Part",
    "PartMean",
    "Parts",
    "Places",
    "Point",
    "Points",
    "PrincipalModels",
    "ProductSpace",
    "Quantity",
    "Settled",
    "Space",
    "Subspace",
    "say_differences",
    "say_factor",
]
