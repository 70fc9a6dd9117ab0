"""The majority of a cloud of points: its centre, its scatter, and which points belong to it.

**Model.** More than half of the points come from one undivided population, of any law; the others are anything:
groups that stand apart from it, points strewn around it, copies, filled-in values, single bad cells. Nothing is asked
of the order of the points.

**Estimator.** Weighted mean and covariance of the points. The weight of a point is its posterior probability of
belonging to the majority; it is 1 for every point, and the answer exactly the plain one, unless there is evidence
against some.

**Criterion.** A group is left out on one of these grounds only:

1. a valley (`evidence.valleys`, z >= VALLEY) in some view separates it from a larger part: single directions (axes of
   the fourth moment, directions that climb skewness and kurtosis, leading axes) and lengths in subspaces, of points
   whitened by a bounded-influence scatter;
2. a second scale (`evidence.second_scales`, VALLEY nats) around the same centre, in the directions where the laws of
   two components differ most, provided that the majority's component is elliptical;
3. a few points beyond a gap: normalised spacings of the log lengths of the farthest points are exponential for power
   tails (Renyi), and shorter for lighter ones;
4. exact equality (`columns`): rows copied all over, values filled in.

Groups are peeled off one after another until no evidence is left. **Where less than HALF of the points remain, there
is no majority**: the groups are classes, and none is left out.

Posterior weights come from normal laws of the majority and of each group by EM (`laws.Mixture`), if the
majority passes the tests of being elliptical; else the cuts themselves decide.

**Calibration.** `python null.py` simulates points without groups: normal, t, Cauchy, uniform, exponential,
log-normal, gamma, Laplace, Poisson and five-point laws, 60 to 1,500 points in 2 to 50 dimensions. Anything
at all is left out of 0.7% of these samples; of 8% in the worst cells, those of t and Cauchy laws of 60 to 200 points.

**Cost.** The search sees at most max(ROWS, SUPPORT / 2 a column) points, chosen by a hash of their content, so that
neither the order of the points nor chance decides; all points are passed twice, to be scaled and to be weighed.

**Breakdown.** Just below a half for groups that stand apart (from about 5 spreads at 200 points on); for a second
scale likewise, if the majority is elliptical. One point, however far, has no more than the gap's limit.

**It cannot see** groups within about four spreads of the majority, or scales within CLEAR of its own; whether a group
is contamination or a second honest population; a group in columns where one value has most of the rows; in a majority
that is not elliptical, what is only wider. Below about 20 points only groups that are far away are evident.

References: Rousseeuw (1985) and Hubert, Rousseeuw and Verdonck (2012) for the dense half and deterministic starts;
Pena and Prieto (2001) for directions of extreme kurtosis; Tyler, Critchley, Dumbgen and Oja (2009) for directions
where two scatters differ; Coretto and Hennig (2016) for mixtures with a component for the rest; Maronna and Yohai
(1995) for weights by projections; Diakonikolas and Kane (2023) for what contamination makes impossible.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.row_loops import any_missing
from robustream.kernels.rows import over_rows, row_blocks, weighted_moments
from robustream.majority.cells import COLUMNS, MENDED, find_bad_cells
from robustream.majority.columns import (
    APART,
    FEWEST,
    VALLEY,
    Keys,
    cell_limits,
    column_units,
    complete,
    copies,
    equal_by_chance,
    fill,
    filled_values,
    row_keys,
    row_states,
    sorted_columns,
    spread_lattice,
    ties,
    voices,
)
from robustream.majority.evidence import CLEAR, Array, median, second_scales, valleys
from robustream.majority.gaps import covariance_with_gaps
from robustream.majority.laws import SIGMAS, Mask, Mixture, drawn, elliptical, squared_lengths

Labels = NDArray[np.intp]

ROWS = 1500  # points searched: a group of 1% still has 15
SUPPORT = 20  # points to an axis that a law needs; four to an axis that a view needs
MAD = 1.482602218505602  # of a normal law, by its deviation
STRONG = 5.0  # z score from which on a valley needs no rival: saves time
HALF = 0.53  # least share of the majority: a half, and the sampling error of two equal classes in 1,000 points
HALF_OF_ROWS = 0.57  # the same of rows, of which more than 40% are not claimed to be told from a class
CHANCE = 1e-3  # that honest points have a gap
AXES = 8  # leading axes that are searched by themselves
STARTS = 8  # points from which directions climb


class Group(NamedTuple):
    """Points that were left out for one reason."""

    rows: int
    share: float
    distance: float  # from the majority, in its spreads, in the view that shows the group
    reason: str
    members: Mask


class Rule(NamedTuple):
    """What was found, as a rule for points that come later; they have no say in it."""

    scaled: Callable[[Array], Array]  # takes points to the coordinates that were searched
    weigh: Callable[[Array], tuple[Array, Labels]] | None
    artefacts: Keys  # of points that are copied all over
    cut: float  # the length beyond which points stand apart from all others
    reach: float  # the largest length of those that belong to the majority

    def judge(self, points: Array) -> tuple[Array, Mask, Array]:
        """Return the weight of each point, whether it is left out, and its length over the reach."""
        block = self.scaled(points)
        lengths = _lengths(block)
        weights, labels = (
            (np.ones(len(block)), np.zeros(len(block), np.intp)) if self.weigh is None else self.weigh(block)
        )
        out = (labels > 0) | (lengths > self.cut)
        if len(self.artefacts):
            out |= np.isin(row_keys(np.ascontiguousarray(points, dtype=float)), self.artefacts)
        return np.where(lengths > self.cut, 0.0, weights), out, lengths / max(self.reach, 1e-300)


class Majority(NamedTuple):
    """Centre and scatter (divisor: sum of weights) of the majority, and what was left out."""

    center: Array
    scatter: Array
    weights: Array
    groups: tuple[Group, ...]
    cells: Mask | None
    plain: bool
    rule: Rule | None = None  # for points that come later, where points are judged as a whole and enough were seen
    divided: bool = False  # whether there are groups of which none has the majority


class Cut(NamedTuple):
    """Points whose view is outside of (low, high] are cut off; the view is a projection, or the length of several."""

    evidence: float
    center: Array
    axes: Array
    low: float
    high: float

    @property
    def reason(self) -> str:
        """Why, in plain words."""
        return "apart in one direction" if self.axes.shape[1] == 1 else "apart in distance from the centre"

    def view(self, points: Array) -> Array:
        """Return the numbers that divide the points."""
        z = points @ self.axes.astype(points.dtype) - (self.center @ self.axes).astype(points.dtype)
        return z[:, 0] if z.shape[1] == 1 else cube_root_length(z)

    def outside(self, points: Array) -> Mask:
        """Return which points are cut off."""
        s = self.view(points)
        return (s <= self.low) | (s > self.high)


class Spread(NamedTuple):
    """Points that a wider (or narrower) law around the same centre explains better are cut off."""

    evidence: float
    center: Array
    axes: Array
    mixture: Mixture

    @property
    def reason(self) -> str:
        """Why, in plain words."""
        return "scattered more widely around the same centre"

    def project(self, points: Array) -> Array:
        """Return points in the space of the two laws."""
        return points @ self.axes.astype(points.dtype) - (self.center @ self.axes).astype(points.dtype)

    def view(self, points: Array) -> Array:
        """Return the lengths of points in the majority's spreads."""
        z = self.mixture.laws[0].white(self.project(points))
        lengths: Array = np.sqrt(squared_lengths(z) / z.shape[1])
        return lengths

    def outside(self, points: Array) -> Mask:
        """Return which points are cut off."""
        cut: Mask = self.mixture.weigh(self.project(points))[0] < 0.5
        return cut


def cube_root_length(z: Array) -> Array:
    """Return the cube root of the mean square of each row, nearly normal for normal rows (Wilson and Hilferty)."""
    lengths: Array = np.cbrt(squared_lengths(z) / z.shape[1])
    return lengths


def principal(points: Array) -> tuple[Array, Array]:
    """Return centre and whitening axes, the widest first; weights 1 / (1 + squared length by its median).

    A few wild points must not have axes for themselves, and hide there.
    """
    squares = squared_lengths(points)
    usual = float(median(squares)) or float(np.mean(squares))  # more than half may be the same
    w = 1 / (1 + squares.astype(float) / max(usual, 1e-300))
    center = w @ points / w.sum()
    weighted = (points - center) * np.sqrt(w)[:, None]
    values, vectors = np.linalg.eigh(weighted.T @ weighted / w.sum())
    use = values > 1e-9 * values[-1]
    use[: -max(len(points) // 4, 1)] = False
    return center, (vectors[:, use] / np.sqrt(values[use]))[:, ::-1]


class White(NamedTuple):
    """Points in the units of a scatter of bounded influence; coordinates are rows, those of the widest axes first."""

    center: Array
    axes: Array
    z: Array
    fourth: Array  # axes of the fourth moment, the lightest first
    along: Array  # the coordinates along these

    @classmethod
    def of(cls, points: Array, most: int | None = None) -> "White":
        """Return points in their principal axes, or in so many of them."""
        center, axes = principal(points)
        return cls.along_axes(points, center, axes[:, :most])

    @classmethod
    def along_axes(cls, points: Array, center: Array, axes: Array) -> "White":
        """Return points in these axes."""
        z = axes.T.astype(np.float32) @ points.T.astype(np.float32, copy=False)
        z -= (center @ axes).astype(np.float32)[:, None]
        fourth = fourth_moment_axes(z)
        return cls(center, axes, z, fourth, fourth.T @ z)


def fourth_moment_axes(z: Array) -> Array:
    """Return the axes of the fourth moment of white points, the lightest first; far points are capped."""
    squares = squared_lengths(z.T)
    a = z * np.sqrt(np.minimum(squares, 4 * median(squares)))
    return np.linalg.eigh((a @ a.T).astype(float))[1].astype(z.dtype)


def climb(z: Array, starts: Array) -> Array:
    """Return directions (rows) that climbed the skewness (the first half) or the kurtosis of points' projections."""
    half = len(starts) // 2
    w = starts / np.maximum(np.sqrt(squared_lengths(starts)), 1e-12)[:, None]
    s, slope = np.empty((len(w), z.shape[1]), z.dtype), np.empty((len(w), z.shape[1]), z.dtype)
    for _ in range(4):
        np.matmul(w, z, out=s)
        np.minimum(s, 8, out=s)
        np.maximum(s, -8, out=s)
        np.multiply(s, s, out=slope)
        slope[half:] *= s[half:]
        w = slope @ z.T
        w /= np.maximum(np.sqrt(squared_lengths(w)), 1e-12)[:, None]
    return w


def find_cut(
    points: Array,
    weights: Array | None = None,
    lengths: bool = True,
    white: White | None = None,
    least: float = 0.0,
    farthest: bool = False,
) -> Cut:
    """Return the cut at the most evident valley of all views; weights say which side is the larger.

    A strong one that leaves at least so much weight goes before one that does not: classes must hide nothing that is
    far from all of them. If it is asked for, the cut with the farthest group is returned instead of the most evident.
    Without `lengths` only directions are looked along that skewness or kurtosis say something of.
    """
    white = White.of(points) if white is None else white
    z, along, fourth, k = white.z, white.along, white.fourth.T, len(white.z)
    starts = np.ascontiguousarray(z[:, :: max(z.shape[1] // STARTS, 1)].T[:STARTS])
    climbed = climb(z, starts)
    lines, views = [fourth[:3], fourth[-3:], climbed], [along[:3], along[-3:], climbed @ z]
    if k > 4 * AXES and lengths:  # a group that is far in the leading axes is lost among many
        found = fourth_moment_axes(z[:AXES]).T
        found = np.vstack([found, climb(z[:AXES], np.vstack([found, found]))])
        lines.append(np.hstack([found, np.zeros((len(found), k - AXES), np.float32)]))
        views.append(found @ z[:AXES])
    spaces = list[Array]()
    if lengths:
        eye = np.eye(k, dtype=np.float32)
        lines.append(eye[:AXES])
        views.append(z[:AXES])
        squares = list[Array]()
        if k > 1:  # of one axis the length says less than the axis itself
            few = [j for j in (2, 4, 8) if j < k]
            wide, far = np.square(z), np.square(along)
            spaces = [eye, *(part for j in few for part in (eye[:j], fourth[-j:], fourth[:j]))]
            squares = [wide, *(part for j in few for part in (wide[:j], far[-j:], far[:j]))]
        sizes = [part.mean(axis=0) for part in squares]
        if points.shape[1] > 1:
            sizes.append(squared_lengths(points - white.center.astype(points.dtype)) / points.shape[1])
        if sizes:
            views.append(np.cbrt(np.stack(sizes, dtype=np.float32)))
    views_ = np.vstack(views)
    z_scores, thresholds = valleys(views_).T
    blocks = [*np.vstack(lines)[:, None], *spaces]
    total = len(points) if weights is None else float(weights.sum())
    best, inner, chosen = int(np.argmax(z_scores)), True, False
    order = np.argsort(-z_scores)
    if farthest:
        clear = order[z_scores[order] >= STRONG]
        reach = np.array([_reach(points, views_[view], thresholds[view]) for view in clear])
        order = np.append(clear[np.argsort(-reach, kind="stable")], order[len(clear) :])
    for view in order:
        if z_scores[view] < (STRONG if chosen else VALLEY) and (chosen or view != best):
            break
        below = views_[view] <= thresholds[view]
        # The larger side is the majority; of lengths the inner one, if it may be.
        inside = float(np.count_nonzero(below) if weights is None else weights[below].sum())
        here = inside >= (0.5 if view < len(blocks) - len(spaces) else 1 - HALF) * total
        if z_scores[view] >= VALLEY and not stand_apart(views_[view], below if here else ~below):
            z_scores[view] = 0.0
            continue
        enough = (inside if here else total - inside) >= least
        if not chosen or enough:
            best, inner, chosen = int(view), here, True
        if enough:
            break
    axes = white.axes @ blocks[best].T.astype(float) if best < len(blocks) else np.eye(points.shape[1])
    low, high = (-np.inf, thresholds[best]) if inner else (thresholds[best], np.inf)
    return Cut(float(z_scores[best]), white.center, axes, float(low), float(high))


def _reach(points: Array, view: Array, threshold: float) -> float:
    """Return how far the smaller side of a valley lies from the middle of the larger one."""
    below = view <= threshold
    inside = below if 2 * np.count_nonzero(below) >= len(below) else ~below
    return _far(points, inside) if 0 < np.count_nonzero(inside) < len(inside) else 0.0


def _far(points: Array, inside: Mask) -> float:
    return float(median(np.sqrt(squared_lengths(points[~inside] - median(points[inside].T)))))


def stand_apart(view: Array, kept: Mask) -> bool:
    """Return whether both sides of a valley are as far apart as two groups that have one: APART of their mean spread.

    The side that is cut off counts with half of the other's spread at least, since chance makes narrow ones, and with
    all of it at most, since points that are strewn widely stand apart too.
    """
    inside, outside = view[kept], view[~kept]
    middles = median(inside), median(outside)
    spreads = [median(np.abs(side - middle)) for side, middle in zip((inside, outside), middles, strict=True)]
    return bool(
        abs(middles[1] - middles[0]) >= APART * MAD * (spreads[0] + np.clip(spreads[1], spreads[0] / 2, spreads[0])) / 2
    )


def find_spread(points: Array, white: White | None = None) -> Spread | None:
    """Return the division into two scales around one centre, if any, that leaves an elliptical majority."""
    most = max(len(points) // SUPPORT, 2)
    if white is None or white.axes.shape[1] > most:
        white = (
            White.of(points, most) if white is None else White.along_axes(points, white.center, white.axes[:, :most])
        )
    k = white.axes.shape[1]
    spaces = [slice(k - j, k) for j in (1, 2, 4) if j <= k]
    spaces += [slice(k - 2, k - 1), slice(0, 2)] if k > 1 else []
    spaces += [slice(0, 1), slice(0, k)]
    evidence, narrow = max(second_scales(white.along, spaces), key=lambda found: found[0])
    if evidence < -5:  # not worth refining
        return None
    z = white.z.T.astype(float)
    share = narrow if narrow.mean() > 0.5 else 1 - narrow
    mixture = Mixture(z, np.stack([share, 1 - share]))
    views = _opposed(z, mixture)
    evidence = max(evidence, *(found for found, _ in views)) if views else -np.inf
    belongs = mixture.posterior
    if evidence >= 0 and belongs.mean() >= 0.5 and elliptical(mixture.laws[0].white(z[drawn(belongs)])):
        return Spread(evidence, white.center, white.axes, mixture)
    return None


def _opposed(z: Array, mixture: Mixture) -> list[tuple[float, Array]]:
    """Return the second scales in the views, white for the majority, in which the other law is wider, or narrower."""
    majority, other = mixture.laws
    values, vectors = np.linalg.eigh(majority.whitening.T @ other.scatter @ majority.whitening)
    white = majority.white(z) @ vectors
    wide, narrow = int(np.sum(values > CLEAR**2)), int(np.sum(values < CLEAR**-2))
    k = len(values)
    views = [slice(k - j, k) for j in {1, 2, 4, wide} if 0 < j <= wide]
    views += [slice(0, j) for j in {1, 2, 4, narrow} if 0 < j <= narrow]
    return second_scales(np.ascontiguousarray(white.T), views) if views else []


def peel(
    points: Array,
    weights: Array,
    rows: bool = True,
    gone: float = 0.0,
    white: White | None = None,
    farthest: bool = False,
) -> list[Cut | Spread] | None:
    """Return the divisions that peel groups off a sample; None where no majority is left.

    `gone` is the share of all points that were left out before; `white` the points, if they are known so already. The
    most evident group goes first, or the `farthest`: where the former leaves no majority, the latter may be far from
    all classes.
    """
    kept, found, all_weights = points, list[Cut | Spread](), weights
    distances = list[float]()
    least = (HALF_OF_ROWS if rows else HALF) / (1 - gone) * weights.sum()
    while len(kept) >= FEWEST:
        white = White.of(kept) if white is None else white
        division: Cut | Spread = find_cut(kept, weights, white=white, least=least, farthest=farthest)
        z = division.evidence if division.evidence >= VALLEY else 0.0
        if z < STRONG and weights.sum() >= least:
            spread = find_spread(kept, white)
            if spread is not None and spread.evidence >= VALLEY and np.sqrt(2 * spread.evidence) > z:
                division, z = spread, np.sqrt(2 * spread.evidence)
        inside = ~division.outside(kept)
        divides = weights[inside].sum() < least <= weights.sum()
        if z == 0 or inside.all() or not inside.any() or (divides and isinstance(division, Spread)):
            break
        found.append(division)
        distances.append(_far(kept, inside))
        kept, weights, white = kept[inside], weights[inside], None
    if not found or weights.sum() >= least:
        return found
    # No majority is left: the groups are classes, but for those that are far from all classes.
    found = found[: before_peers(distances)]
    return found or (None if farthest else peel(points, all_weights, rows, gone, farthest=True))


def before_peers(distances: Sequence[float]) -> int:
    """Return how many groups, in the order in which they were peeled off, are farther away than the last one's peers.

    Where the last one leaves no majority it is a class beside what it leaves, and so are those that lie as near, or as
    near as one of these, within a factor of APART.
    """
    peers = distances[-1]
    while (farthest := max(d for d in distances if d <= APART * peers)) > peers:
        peers = farthest
    return next(count for count, distance in enumerate(distances) if distance <= peers)


def gap(lengths: Array) -> float:
    """Return the length beyond which a few points stand apart from all others."""
    n = len(lengths)
    upper = n // 4
    if upper < 4:
        return np.inf
    t = np.log(np.maximum(np.sort(np.partition(lengths, n - upper - 1)[n - upper - 1 :]), 1e-300))
    spacings: Array = np.diff(t) * np.arange(upper, 0.0, -1)
    few = min(upper, n // 20 + 5)
    half = upper / 2  # a median knows the mean of exponential spacings about as well as half of them would
    limit = half * ((few / CHANCE) ** (1 / half) - 1)  # upper point of F(2, 2 half)
    far = np.flatnonzero(spacings[upper - few :] > median(spacings) / np.log(2) * limit)
    return float(np.exp(t[upper - few + far[0] : upper - few + far[0] + 2].mean())) if len(far) else np.inf


def _in_units(points: Array, center: Array, factor: Array) -> Array:
    """Return points in units of their columns, within float32's reach."""
    if not is_device_array(points):
        return _scaled(points, center, factor)
    from robustream.kernels.gpu.numpy_proxy import DeviceTable, rows_of
    from robustream.kernels.gpu.rows import scaled_rows

    found: Array = DeviceTable(scaled_rows(*map(rows_of, (points, center, factor))))  # type: ignore[assignment]
    return found


@njit(cache=True, error_model="numpy", nogil=True)
def _scaled(points: Array, center: Array, factor: Array) -> Array:
    out = np.empty(points.shape, np.float32)
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            v = (points[i, j] - center[j]) * factor[j]
            v = v if v < 1e9 else 1e9
            out[i, j] = v if v > -1e9 else -1e9
    return out


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _lengths(points: Array) -> Array:
    out = np.empty(len(points), np.float32)
    for i in range(points.shape[0]):
        square = np.float32(0)
        for j in range(points.shape[1]):
            square += points[i, j] * points[i, j]
        out[i] = np.sqrt(square)
    return out


def moments(
    points: Array, weights: Array, missing: Mask | None = None, near: Array | None = None
) -> tuple[Array, Array]:
    """Return weighted mean and covariance, of each pair of columns from the rows that have both if some are bad.

    `near` is a place near the mean, from which deviations are taken; by default a point of the largest weight.
    """
    if missing is None:
        one = bool(np.all(weights == 1))
        # Rows in single precision have moments that are known, and stored, to no more.
        single = points.dtype == np.float32 and not is_device_array(points)
        some = points[int(np.argmax(weights))].astype(float) if near is None else near
        return weighted_moments([points], None if one else weights, some, single=single)[1:]
    known = ~missing
    pairs = (weights[:, None] * known).T @ known
    center = weights @ np.where(known, points, 0) / np.maximum(np.diag(pairs), 1e-12)
    deviations = np.where(known, points - center, 0)
    return center, (deviations * weights[:, None]).T @ deviations / np.maximum(pairs, 1e-12)


def majority(
    points: ArrayLike,
    weights: ArrayLike | None = None,
    seed: int = 0,
    cells: bool = True,
    times: NDArray[np.floating] | None = None,
    summed: bool = True,
) -> Majority:
    """Return the majority of points (n x p): centre, scatter, weights, and the groups that were left out.

    Parameters
    ----------
    points : n rows of p finite numbers; NaN for a cell that is missing, unless points are judged as a whole.
    weights : n numbers >= 0, optional: how much each row counts, in the search and in the answer.
    seed : of the noise that spreads the values of discrete columns.
    cells : whether single cells may be bad, or filled in; else points are judged as a whole.
    times : n numbers > 0, optional: how often each row counts in the answer. In the search it has one voice, as copies
        of a row have one together; but where chance makes rows equal, in a table of discrete values, as many as copies.
    summed : whether centre and scatter are worked out; else they are empty, for whoever only asks for the weights.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(300, 3))
    >>> majority(x).plain
    True
    >>> x[:90] += [10, 0, 0]
    >>> [(group.rows, group.reason) for group in majority(x).groups]
    [(90, 'apart in one direction')]
    """
    # Rows on a GPU stay there as they are; what is searched, a sample of them, comes over. Those in single precision
    # are taken as they are, too: a copy of all would cost as much as a pass.
    x: Array = points if is_device_array(points) else np.ascontiguousarray(points)  # type: ignore[assignment]
    if not is_device_array(x) and (x.dtype != np.float32 or any_missing(x)):
        x = x.astype(float, copy=False)
    n, p = x.shape
    if p == 0:  # points that are all the same, in as many coordinates as they differ in
        same = np.ones(n) if weights is None else np.array(weights, dtype=float)
        return Majority(np.zeros(0), np.zeros((0, 0)), same, (), None, True)
    given = np.ones_like(x[:, 0], dtype=float) if weights is None else np.array(weights, dtype=float)
    answered = given if times is None else given * times
    gaps: Mask | None = None
    if not is_device_array(x) and any_missing(x):
        gaps = np.isnan(x)
        x = np.where(gaps, np.nan, x)  # one NaN, so that rows with the same gaps have the same hash
    keys = row_keys(x)
    size = max(ROWS, SUPPORT // 2 * p)
    chosen = np.argpartition(keys, size)[:size] if size < n else np.arange(n)
    chosen = chosen[np.asarray(given[chosen]) > 0]
    chosen = chosen[np.argsort(np.asarray(keys[chosen]))]
    left_out: list[tuple[str, float, Mask]] = []

    belongs = np.ones_like(x[:, 0], dtype=float)
    missing: Mask | None = None
    seen = np.asarray(x[chosen], dtype=float)
    first, artefacts = copies(seen, np.asarray(keys[chosen]), keys, lambda i: np.asarray(x[i]))
    copied = len(first) < len(chosen)
    if copied:
        chosen, seen = chosen[first], seen[first]
    if times is not None and equal_by_chance(seen):
        chosen = chosen[voices(times[chosen], size)]
        seen = np.asarray(x[chosen], dtype=float)
    if len(artefacts):
        left_out.append(("copies of one row", np.nan, np.isin(keys, artefacts)))
    ordered = sorted_columns(seen)
    stuck = filled_values(seen, ties(ordered)) if cells else []
    if stuck:
        missing = np.zeros_like(x, dtype=bool)
        for j, value in stuck:
            missing[:, j] = x[:, j] == value
        spoilt = np.asarray(missing[chosen]).any(axis=1)
        if np.mean(spoilt) <= 1 - HALF:
            holed: Mask = missing.any(axis=1)  # type: ignore[assignment]
            left_out.append(("one value filled into a column", np.nan, holed))
            chosen, seen, missing = chosen[~spoilt], seen[~spoilt], None
            ordered = sorted_columns(seen)
    for _, _, member in left_out:
        belongs[member] = 0
    out = float(1 - belongs.mean())
    if gaps is not None:
        missing = gaps if missing is None else missing | gaps

    sample, discrete = spread_lattice(seen, np.random.default_rng(seed), ties(ordered))
    center, unit = column_units(sample, None if discrete else ordered)
    use = np.flatnonzero(unit > 0)
    if len(chosen) < FEWEST or len(use) == 0:
        return _answer(x, answered, belongs, left_out, missing, summed=summed)
    near = center
    center, unit = center[use], unit[use]

    def in_units(points: Array) -> Array:
        return _in_units(points if len(use) == p else points[:, use], center, 1 / unit)

    def scaled(rows: slice) -> Array:
        return in_units(x[rows])

    def here(marks: Mask | None) -> Mask | None:
        return None if marks is None else np.asarray(marks[chosen])

    raw = _scaled(sample if len(use) == p else sample[:, use], center, 1 / unit)
    counts = np.asarray(given[chosen])
    gone = None if missing is None else missing[:, use]
    if gaps is None or gone is None:
        limit = cell_limits(raw, 1 - HALF_OF_ROWS) if cells else None
        filled, bad = None, gone
        if limit is not None:
            filled = scaled(slice(0, n))
            bad = np.abs(filled) > limit
            bad = bad if gone is None else gone | bad
        divisions, axes, sample = _search(raw, counts, cells, here(bad), out)
        if limit is not None:
            kept = np.all([~d.outside(sample) for d in divisions or ()], axis=0) & np.ones(len(sample), bool)
            # Undone if they were those of classes, or of rows that went.
            if divisions is None or cell_limits(raw[kept], 1 - HALF_OF_ROWS) is None:
                bad = gone
                divisions, axes, sample = _search(
                    raw, counts, cells, None if bad is None else np.asarray(bad[chosen]), out
                )
        if bad is not None:
            filled = fill(scaled(slice(0, n)) if filled is None else filled, bad) if bad.any() else None
    else:
        bad, filled, (divisions, axes, sample) = _search_with_gaps(
            raw, scaled(slice(0, n)), gone, chosen, keys, counts, cells, out
        )
    divided, divisions = divisions is None, divisions or []
    if bad is not None and bad.any():
        missing = np.zeros_like(x, dtype=bool) if missing is None else missing
        missing[:, use] |= bad

    weigh = _weigher(sample, divisions)
    labels, lengths = np.zeros_like(belongs, dtype=np.intp), np.empty_like(belongs, dtype=np.float32)

    def judge(tile: slice) -> None:
        for rows in row_blocks(tile, p, x):
            block = scaled(rows) if filled is None else filled[rows]
            if axes is not None:
                block = block @ axes.astype(block.dtype)
            lengths[rows] = np.sqrt(squared_lengths(block)) if is_device_array(block) else _lengths(block)
            if weigh is not None:
                weights, labels[rows] = weigh(block)
                belongs[rows] *= weights

    over_rows(judge, n, p, x)
    for number, division in enumerate(divisions, 1):
        member = labels == number
        distance = _distance(division, sample, np.asarray(member[chosen]), np.asarray(belongs[chosen]) > 0.5)
        left_out.append((division.reason, distance, member))

    kept = belongs > 0.5
    cut = gap(np.sqrt(squared_lengths(sample[np.asarray(kept[chosen])])) if discrete or copied else lengths[kept])
    far = kept & (lengths > cut)
    if far.any():
        left_out.append(("a few far apart from all others", float(lengths[far].min() / np.median(lengths)), far))
        belongs[far] = 0
    answer = _answer(x, answered, belongs, left_out, missing, near, summed)._replace(divided=divided)
    if cells or missing is not None or is_device_array(x):
        return answer

    def searched(points: Array) -> Array:
        block = in_units(np.ascontiguousarray(points, dtype=float))
        return block if axes is None else np.ascontiguousarray(block @ axes.astype(block.dtype))

    reach = float(lengths[(labels == 0) & (belongs > 0)].max(initial=0.0))  # those of little weight included
    return answer._replace(rule=Rule(searched, weigh, artefacts, cut, reach))


Searched: TypeAlias = tuple[list[Cut | Spread] | None, Array | None, Array]


def _search_with_gaps(
    raw: Array, scaled: Array, gone: Mask, chosen: Labels, keys: Keys, weights: Array, rows: bool, out: float
) -> tuple[Mask, Array | None, Searched]:
    """Return which cells are missing or bad, all scaled points with these filled, and what the search found."""
    known = np.where(gone[chosen], np.nan, raw)
    law = find_bad_cells(known, VALLEY, 1 - HALF_OF_ROWS) if rows else None
    for last in (False, True):
        bad, start = gone, None
        if law is not None:
            bad, start = gone | law.bad(np.where(gone, np.nan, scaled)), (law.center, law.covariance)
        filled = complete(scaled, bad, chosen, keys, start).rows if bad.any() else None
        searched = _search(
            raw if filled is None else np.where(bad[chosen], filled[chosen], raw), weights, rows, None, out
        )
        divisions, _, sample = searched
        kept = np.all([np.ones(len(sample), bool), *(~d.outside(sample) for d in divisions or ())], axis=0)
        if law is not None:
            # Undone if they were those of classes, or of rows that went.
            stands = divisions is not None and bool(np.mean((bad & ~gone)[chosen][kept].any(axis=1)) > 1 - HALF_OF_ROWS)
            law = law if stands else None
        else:
            # Bad cells may show only where a group of rows is gone.
            stands = not rows or not divisions or (law := find_bad_cells(known[kept], VALLEY, 1 - HALF_OF_ROWS)) is None
        if last or stands:
            break
    return bad, filled, searched


def bad_cells(x: Array, states: Keys | None = None) -> Mask | None:
    """Mark single bad cells of rows of a regression (NaN where cells are missing), where x is given; None if none is.

    The law of the clean cells is sought without rows that stand apart: many that lie close together, as copies of one
    row do, would make the others' cells look far off.
    """
    n, p = x.shape
    if p < COLUMNS:
        return None
    keys = row_keys(x[:, :0], row_states(x) if states is None else states)
    size = max(1500, 10 * p)
    some = np.argpartition(keys, size)[:size] if size < n else np.arange(n)
    sample, _ = spread_lattice(np.asarray(x[some], dtype=float), np.random.default_rng(0))
    center, unit = column_units(sample)
    use = np.flatnonzero(unit > 0)
    if len(use) < COLUMNS:  # the others are one value, such as zero, in most rows
        return None
    known = (sample[:, use] - center[use]) / unit[use]
    with np.errstate(invalid="ignore"):
        far = np.abs(known) > SIGMAS
    if np.mean(far.any(axis=1)) <= MENDED:
        return None
    far |= np.isnan(known)
    filled = complete(np.where(far, 0.0, known), far, np.arange(len(known)), keys[some]).rows
    divisions, _, filled = _search(filled, np.ones(len(filled)), True)
    together = np.all([np.ones(len(filled), bool), *(~d.outside(filled) for d in divisions or ())], axis=0)
    if not together.all():
        center, unit = column_units(sample[together])
        use = np.flatnonzero(unit > 0)
        known = (sample[:, use] - center[use]) / unit[use]
    law = find_bad_cells(known[together], VALLEY, MENDED)
    if law is None:
        return None
    bad, x = np.zeros((n, p), bool), np.asarray(x)
    bad[:, use] = law.bad((x[:, use] - center[use]) / unit[use], rows=False)
    return bad if bad.any() else None


def _search(sample: Array, weights: Array, rows: bool, bad: Mask | None = None, gone: float = 0.0) -> Searched:
    """Return the divisions of a sample, the axes to which it was reduced for want of points, and it there."""
    if bad is not None and bad.any():
        sample = fill(sample, bad)
    center, axes = principal(sample)
    if axes.shape[1] == sample.shape[1]:
        return peel(sample, weights, rows, gone, White.along_axes(sample, center, axes)), None, sample
    axes = axes / np.linalg.norm(axes, axis=0)
    sample = sample @ axes
    return peel(sample, weights, rows, gone), axes, sample


def _weigher(sample: Array, divisions: list[Cut | Spread]) -> Callable[[Array], tuple[Array, Labels]] | None:
    """Return what gives points their weights, and the number of the group that each is in; None if all have weight 1.

    Weights are the posterior if the majority is elliptical, else as cut.
    """

    def cut(rows: Array) -> tuple[Array, Labels]:
        labels = np.zeros_like(rows[:, 0], dtype=np.intp)
        for number, division in enumerate(divisions, 1):
            labels[(labels == 0) & division.outside(rows)] = number
        return (labels == 0).astype(float), labels

    if len(divisions) == 1 and isinstance(divisions[0], Spread) and divisions[0].axes.shape[1] == sample.shape[1]:
        spread = divisions[0]  # the same laws, fitted already

        def by_spread(rows: Array) -> tuple[Array, Labels]:
            posterior = spread.mixture.weigh(spread.project(rows))[0]
            return posterior, (posterior < 0.5).astype(np.intp)

        return by_spread
    if divisions and sample.shape[1] * SUPPORT <= len(sample):
        of_sample = cut(sample)[1]
        mixture = Mixture(sample, np.stack([of_sample == g for g in range(len(divisions) + 1)]).astype(float))
        enough = mixture.posterior.sum() >= (1 - HALF) * len(sample)
        if enough and elliptical(mixture.laws[0].white(sample[drawn(mixture.posterior)])):
            return mixture.weigh
    return cut if divisions else None


def _distance(division: Cut | Spread, points: Array, member: Mask, kept: Mask) -> float:
    """Return how far members are from the kept points, in these points' spreads, in the view that divides them."""
    view = division.view(points)
    if not member.any() or not kept.any():
        return np.nan  # so few that the sample has none
    return float(abs(view[member].mean() - view[kept].mean()) / max(view[kept].std(), 1e-300))


def _answer(
    x: Array,
    given: Array,
    belongs: Array,
    left_out: list[tuple[str, float, Mask]],
    missing: Mask | None,
    near: Array | None = None,
    summed: bool = True,
) -> Majority:
    cells = missing if missing is not None and missing.any() else None
    weights = given * belongs
    groups = tuple(Group(int(member.sum()), float(member.mean()), far, why, member) for why, far, member in left_out)
    plain = cells is None and bool(np.all(belongs == 1))
    if not summed:
        return Majority(np.zeros(0), np.zeros((0, 0)), weights, groups, cells, plain)
    if cells is not None and np.isnan(x).any():
        return Majority(*covariance_with_gaps(x, cells, weights), weights, groups, cells, plain)
    return Majority(*moments(x, weights, cells, near), weights, groups, cells, plain)
