"""Standard errors and intervals of linear models, and the summary that shows them.

Standard errors come from how much the batches that are believed differ, once there are a few: whatever makes them
differ is then in, honest differences between days or sites too. Of fewer batches each tells the covariance of its own
fit by the residuals of its rows (`learners.uncertainty`), and that of the answer is the larger of both, coefficient by
coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from robustream.aggregators import Aggregator
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.estimators._device import fill_gaps, given_back, take_rows
from robustream.estimators._summary import Coefficients, Shown, Summary, target_names
from robustream.kernels.device_arrays import host_array
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.uncertainty import LEVELS
from robustream.runs.notes import left_out_of
from robustream.runs.run import Run
from robustream.spaces import Array
from robustream.spaces.linear import LinearPoint, invert_moments

__all__ = ["IntervalsMixin"]

# Standard errors below it, relative to the coefficient, are rounding errors.
_ROUNDING = 1e-12
# Places at which a distribution function is worked out, and the part of its range below which a blur is not worth it.
_PLACES, _LEAST_BLUR = 1000, 1e-4


class Parameters(NamedTuple):
    """Coefficients and, last, the intercept of each output (outputs x (columns + 1)), and how well they are known."""

    value: Array
    covariance: Array  # outputs x (columns + 1) squared; NaN where nothing can be said
    freedom: Array  # degrees of freedom of each
    exact: NDArray[np.bool_]  # whether it is of an exact fit, where a standard error of nearly nothing is right

    @property
    def error(self) -> Array:
        """The standard errors; NaN where nothing is known."""
        error = np.sqrt(np.maximum(np.einsum("oii->oi", self.covariance), 0.0))
        # No error at all means no degrees of freedom, or a column that never changes: nothing is known, not everything.
        return np.where(self.exact | (error > _ROUNDING * np.abs(self.value)), error, np.nan)

    def ends(self, alpha: float) -> tuple[Array, Array]:
        """Return the two ends of the intervals."""
        half = -stdtrit(self.freedom, alpha / 2) * self.error
        return self.value - half, self.value + half

    def tests(self) -> tuple[Array, Array]:
        """Return t and p values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t_value = np.where(self.exact & (self.value == 0), 0.0, self.value / self.error)
        return t_value, 2 * stdtr(self.freedom, -np.abs(t_value))


class IntervalsMixin:
    """For a linear model that holds a run: errors, intervals, tests and a summary."""

    # What the estimator has.
    fit_intercept: bool
    run_: Run
    _library: str | None
    _batch_note: Any
    _held_run: Any
    _placed: Any
    _target_names: Any
    _linear: Any
    _noise: Any

    @property
    def coef_stderr_(self) -> Array:
        """The standard error of each coefficient; NaN where the learner or aggregator cannot tell."""
        return self._given(self._parameters().error[:, :-1])

    @property
    def intercept_stderr_(self) -> Any:
        """The standard error of the intercept of each output; NaN where there is none, or nobody can tell."""
        return self._given(self._parameters().error[:, -1])

    @property
    def covariance_of_coef_(self) -> Array:
        """The covariance of the coefficients, with the intercept, if there is one, as the last row and column.

        (`summary` and a `conf_int` by name list it first.) Several outputs have an axis of their own, before.
        """
        covariance = self._parameters().covariance
        return self._given(covariance if self.fit_intercept else covariance[:, :-1, :-1])

    @property
    def r2_(self) -> Any:
        """The share of the variance of each target that the model explains, over the rows that are believed.

        NaN where the learner keeps no moments ("classical", "trimmed").
        """
        answer = self._held_run().answer
        return self._given(np.full(len(answer.coef), np.nan) if answer.r_squared is None else answer.r_squared)

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Return the interval that holds each coefficient with chance 1 - alpha; the last axis is low, high.

        An array shaped as `coef_`, which has no intercept. Where the columns have names and pandas is installed, a data
        frame with a row for each coefficient, the intercept first.
        """
        low, high = self._parameters().ends(_check_alpha(alpha))
        if not hasattr(self, "feature_names_in_") or find_spec("pandas") is None or self._library is not None:
            return self._given(np.stack([low[:, :-1], high[:, :-1]], axis=-1))
        import pandas as pd

        rows = list(self._rows(low, high))
        ends = [alpha / 2, 1 - alpha / 2]
        return pd.DataFrame([row[1:] for row in rows], index=[row[0] for row in rows], columns=ends)

    def predict_interval(self, X: Any, level: float = 0.95) -> NDArray[Any]:
        """Return the interval that holds the target of a new row, of the kind that is believed, with chance `level`.

        The last axis is low, high. The ends are quantiles of the residuals of the believed rows, so that they need not
        be symmetric, wider by what is not known of the line at that row, and by what its missing cells leave open.
        They hold over rows as they come: where noise is uneven, quiet rows get more than they need and noisy ones less.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InvalidInputError(f"level must lie between 0 and 1, got {level!r}")
        quantiles, known = self._residual_quantiles((1 - level) / 2, (1 + level) / 2), self._parameters()
        model = self._linear()
        rows, missing = fill_gaps(host_array(take_rows(self, X, reset=False)), model.center, model.covariance)
        rows = np.asarray(rows, dtype=np.float64)
        design = np.column_stack([rows, np.ones(len(rows))])
        unsure = np.stack([((design @ matrix) * design).sum(axis=1) for matrix in np.nan_to_num(known.covariance)])
        noise = np.maximum(np.square(self._held_run().answer.scale.astype(np.float64)), np.finfo(np.float64).tiny)
        opened = 1.0 if missing is None else np.square(self._noise(missing, model)).T
        # The quantiles are those of rows for which the line is as unsure as it is on the average.
        wider = np.sqrt((opened + np.maximum(unsure, 0.0) / noise[:, None]) / (1 + self._blur()[1]))
        found = (known.value @ design.T)[..., None] + wider[..., None] * quantiles[:, None, :]
        return given_back(found[0] if self.run_.layout.single else found.transpose(1, 0, 2), X)

    def _residual_quantiles(self, *wanted: float) -> Array:
        """Return quantiles of the residuals of all believed rows together, outputs x wanted."""
        run = self._held_run()
        if run.answer.quantiles is None:
            raise NotEnoughRowsError(
                "intervals for new rows rest on the residuals of rows, which are not kept where a table has more "
                "columns than its batches can be solved for"
            )
        points = [LinearPoint(*point) for point in run.believed]
        laws, shares = [point.quantiles for point in points if point.quantiles is not None], run.believed_shares
        if len(laws) < len(points) or not laws:  # aggregators that keep no estimates have the mean of their quantiles
            laws, shares = [run.answer.quantiles], np.ones(1)
        each, (own, whole) = np.stack(laws).transpose(1, 0, 2), self._blur()
        blur = np.sqrt(max(own - whole, 0.0)) * run.answer.scale.astype(np.float64)
        return np.stack(
            [_mixture_quantiles(law, shares, np.array(wanted), float(b)) for law, b in zip(each, blur, strict=True)]
        )

    def _blur(self) -> tuple[float, float]:
        """Return how unsure the lines of the batches, and of all rows together, are where rows lie, on the average.

        As variances, in units of that of the noise.
        """
        run, unknowns = self._held_run(), self._linear().coef.shape[-1] + bool(self.fit_intercept)
        rows, shares = run.believed_rows, run.believed_shares
        if not len(rows):
            used, count = left_out_of(run.report), max(1, run.plan.aggregator.count(run.complete.state))
            rows, shares = np.full(count, max(1.0, (used.seen - used.rows) / count)), np.full(count, 1 / count)
        own, whole = (unknowns / np.maximum(count - unknowns, unknowns) for count in (rows, rows.sum()))
        return float(shares @ own), float(whole)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the coefficients with standard errors, t values, p values and intervals as a table that prints."""
        known = self._parameters()
        rows = self._rows(known.value, known.error, *known.tests(), *known.ends(_check_alpha(alpha)))
        columns = ("", "coef", "std err", "t", "P>|t|", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]")
        answer = self._held_run().answer
        facts = [f"residual scale {_list(answer.scale)}", f"{known.freedom.min():,.0f} degrees of freedom"]
        if answer.r_squared is not None:
            facts.insert(0, f"R squared {_list(answer.r_squared)} over the rows that are believed")
        notes = ("; ".join(facts), self._batch_note(), *self._exact_note())
        return Summary("Outlier-robust linear regression", columns, tuple(rows), notes)

    def shown(self, targets: Any = None) -> Shown:
        """Return what a report shows of the model; `targets` are the names of the outputs."""
        known, answer = self._parameters(), self._held_run().answer
        coef, error, low, high, p = (
            table[:, :-1] for table in (known.value, known.error, *known.ends(0.05), known.tests()[1])
        )
        names = target_names(targets or self._target_names(), len(known.value))
        found = Coefficients(coef, error, low, high, p, known.value[:, -1], answer.scale, names)
        return Shown("Outlier-robust linear regression", coefficients=found, notes=self._exact_note(names))

    def _exact_note(self, names: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return what people should ask themselves where a target is fitted exactly."""
        exact = self._exact()
        if not exact.any():
            return ()
        which = f" of {', '.join(names[place] for place in np.flatnonzero(exact))}" if len(exact) > 1 and names else ""
        return (f"exact fit{which}: does a column contain the target?",)

    def _exact(self) -> NDArray[np.bool_]:
        """Return which outputs are fitted exactly by fewer coefficients than there are rows."""
        run = self._held_run()
        used, exact = left_out_of(run.report), run.answer.exact
        if exact is None or used.seen - used.rows <= run.layout.columns + bool(self.fit_intercept):
            return np.zeros(len(run.answer.coef), bool)
        return np.asarray(exact)

    def _parameters(self) -> Parameters:
        run = self._held_run()
        answer = run.answer
        level = answer.level if self.fit_intercept else np.zeros_like(answer.level)
        covariance, freedom = _uncertainty(run, run.layout.columns + bool(self.fit_intercept))
        value = np.column_stack([answer.coef, level]).astype(np.float64)
        exact = self._exact()[:, None] & np.ones(value.shape, bool)
        if answer.rounding is None or not exact.any():
            return Parameters(value, covariance, freedom, exact)
        exact &= np.isfinite(answer.rounding)
        # What is rounding is shown as 0. The coefficients themselves keep their digits.
        value = np.where(exact & (np.abs(value) <= answer.rounding), 0.0, value)
        return Parameters(value, covariance, freedom, exact)

    def _rows(self, *tables: Array) -> Iterator[tuple[Any, ...]]:
        """Give the rows of a table by coefficient: its name and a number of each table; the intercept comes first."""
        outputs, columns = tables[0].shape[0], tables[0].shape[1] - 1
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(columns)])
        for output, target in enumerate(self._target_names()):
            start = f"{target}: " if outputs > 1 else ""
            for place in [-1, *range(columns)] if self.fit_intercept else range(columns):
                name = "intercept" if place < 0 else names[place]
                yield (f"{start}{name}", *(float(table[output, place]) for table in tables))

    def _given(self, value: Array) -> Any:
        """Return what there is of each output as users know it: without that axis if y was one column."""
        return self._placed(value[0] if self.run_.layout.single else value)


def _check_alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie between 0 and 1, got {alpha!r}")
    return alpha


def _list(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _uncertainty(run: Run, parameters: int) -> tuple[Array, Array]:
    """Return the covariance of coefficients and intercept, and their degrees of freedom.

    `parameters` is the number of them that each output has.
    """
    answer, aggregator = run.answer, run.plan.aggregator
    outputs, columns = answer.coef.shape
    points, shares = run.believed, run.believed_shares
    within, between, freedom = None, None, np.full((outputs, columns + 1), np.inf)
    if answer.variance is not None:
        count = 1 / float(np.square(shares).sum()) if points else max(1, aggregator.count(run.complete.state))
        within = answer.variance * (aggregator.variance_factor(answer.coef.size) / count)
        used = left_out_of(run.report)
        freedom[:] = max(1, used.seen - used.rows - parameters)
    if len(points) > 1:
        space: Any = run.space
        asked = space.asked(points, run.value, answer)
        between, batches = _spread(asked, shares, aggregator), 1 / float(np.square(shares).sum()) - 1
        if len(points) >= BATCHES_FOR_SPREAD or within is None:
            return _of_batches(run, _scaled(within, between), batches)
        assert within is not None
        # What batches differ by beyond their own noise is known by so few numbers only (Satterthwaite).
        known = np.einsum("oii->oi", within)
        beyond = np.clip(1 - known / np.maximum(np.einsum("oii->oi", between), 1e-300), 0.0, 1.0)
        freedom = np.minimum(freedom, max(batches, 1.0) / np.maximum(np.square(beyond), 1e-9))
        return _scaled(within, np.where(between > 0, between, 0.0), at_least=True), freedom
    if within is None:
        return np.full((outputs, columns + 1, columns + 1), np.nan), np.ones((outputs, columns + 1))
    return within, freedom


# Of the batches, the share that knows of a coefficient below which their spread does not tell its error.
_CONCENTRATED = 0.5


def _of_batches(run: Run, between: Array, batches: float) -> tuple[Array, Array]:
    """Return a covariance that the spread of many batches tells, and its degrees of freedom.

    A coefficient that few of them know of, as that of a rare level, is fitted to these: they differ from it by less
    than its error. What is known of it by the noise of its rows then stands, where that is more.
    """
    outputs, size = between.shape[:2]
    freedom, columns = np.full((outputs, size), max(batches, 1.0)), size - 1
    space: Any = run.space
    informed = space.informed(run.believed, run.believed_shares, run.value)
    if informed is None or run.answer.covariance is None:
        return between, freedom
    # Of batches that would know as much if all knew the same.
    number = 1 / np.maximum(np.square(informed).sum(axis=0), 1 / len(informed))
    few = number < min(BATCHES_FOR_SPREAD, _CONCENTRATED * (batches + 1))
    if not few.any():
        return between, freedom
    known = np.diag(invert_moments(run.answer.covariance, columns, space.alpha)) / run.believed_rows.sum()
    least = np.square(run.answer.scale.astype(np.float64))[:, None] * np.where(few, known, 0.0)
    told = np.einsum("oii->oi", between)[:, :columns]
    # Deviations from a mean of so many batches are too small by the part that each has in it.
    wanted = np.maximum(told * np.where(few, (1 - 1 / (batches + 1)) / (1 - 1 / np.maximum(number, 2.0)), 1.0), least)
    beyond = np.square(1 - np.where(few, least / np.maximum(wanted, 1e-300), 0.0))
    freedom[:, :columns] = np.maximum(np.minimum(batches, number - 1), 1.0) / np.maximum(beyond, 1e-9)
    factor = np.ones((outputs, size))
    factor[:, :columns] = np.sqrt(np.where(told > 0, wanted / np.where(told > 0, told, 1.0), 0.0))
    found = between * factor[:, :, None] * factor[:, None, :]
    np.einsum("oii->oi", found)[:, :columns] = wanted
    return found, freedom


def _spread(asked: Array, shares: Array, aggregator: Aggregator) -> Array:
    """Return the covariance of the answer from what each batch asks for (batches x outputs x parameters).

    Aggregators that drop what they do not believe average the rest. The others may hold garbage among their estimates:
    each parameter's spread is then its MAD, and their loss against the mean is counted in.
    """
    if aggregator.averages:
        deviations = (asked - np.einsum("b,bop->op", shares, asked)) * shares[:, None, None]
        return np.einsum("bop,boq->opq", deviations, deviations) / (1 - float(np.square(shares).sum()))
    deviation = np.median(np.abs(asked - np.median(asked, axis=0)), axis=0) * 1.482602218505602
    variance = np.square(deviation)
    total = float(variance.sum())
    dimension = total**2 / float(np.square(variance).sum()) if total > 0 else 1.0
    return (variance * (aggregator.variance_factor(dimension) / len(asked)))[:, :, None] * np.eye(asked.shape[2])


def _scaled(within: Array | None, between: Array, at_least: bool = False) -> Array:
    """Return a covariance with the variances of one between batches, and the correlations of one within them."""
    if within is None:
        return between
    wanted, known = np.einsum("oii->oi", between), np.einsum("oii->oi", within)
    if at_least:
        wanted = np.maximum(wanted, known)
    factor = np.sqrt(wanted / np.where(known > 0, known, np.inf))
    return within * factor[:, :, None] * factor[:, None, :]


def _mixture_quantiles(quantiles: Array, shares: Array, wanted: Array, blur: float) -> Array:
    """Return quantiles of a mixture of laws, each given by its quantiles at LEVELS (laws x levels).

    `blur` is the deviation of a normal error that the laws have in them and that is to be taken out, as that of the
    lines of small batches: twice the distribution function less that which is blurred once more has it taken out up to
    terms of its fourth power (van Cittert), also at a sharp end of the law, where a smaller scale would not help.
    """
    masses = np.diff(LEVELS, prepend=0.0, append=1.0)
    each = (masses[1:] + masses[:-1]) / 2
    values, weights = quantiles.ravel().astype(np.float64), (shares[:, None] * each / each.sum()).ravel()
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    reached = np.cumsum(weights) - weights / 2
    if blur > _LEAST_BLUR * (values[-1] - values[0]):
        places = np.interp(np.linspace(0, 1, _PLACES), np.linspace(0, 1, len(values)), values)
        again = ndtr((places[:, None] - values) / blur) @ weights
        reached = np.maximum.accumulate(2 * np.interp(places, values, reached) - again)
        values = places
    return np.interp(wanted, reached, values)
