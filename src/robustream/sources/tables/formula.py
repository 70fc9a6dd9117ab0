"""Formulas such as "price ~ size + log(age) + C(city)": what they ask for, as terms of an encoding.

`formulaic` reads the formula and says which levels must be dropped so that no column of X follows from others; it works
nothing out. Factors are arithmetic (`expressions`), names of columns, and C(column) for a category:

    C(city)                              levels learned from the files, the most frequent one is the reference
    C(city, contr.treatment("Paris"))    compared with Paris
    C(city, levels=["Paris", "Rome"])    levels named, the first is the reference

Functions that need to see all rows first, such as scale(x) or bs(x), are refused: garbage would have a say in them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from robustream.errors import InvalidInputError
from robustream.sources.tables.encoding import Factor
from robustream.sources.tables.expressions import columns_in, is_column, quoted

__all__ = ["Asked", "Formula", "read_formula"]


class Asked(NamedTuple):
    """A category that a formula asks for."""

    column: str
    levels: tuple[object, ...] | None = None  # None where they are to be learned
    reference: str | None = None


@dataclass(frozen=True)
class Formula:
    """What a formula says.

    Parameters
    ----------
    text : the formula.
    targets : the expressions to the left of ~.
    terms : the factors of each term, as written.
    intercept : whether it has an intercept.
    categories : the factors that are C(...).
    """

    text: str
    targets: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    intercept: bool
    categories: Mapping[str, Asked] = field(default_factory=dict)

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of the targets: those of columns as they are, others as written."""
        return tuple(columns_in(target)[0] if is_column(target) else target for target in self.targets)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to the right of ~."""
        found = (
            (self.categories[factor].column,) if factor in self.categories else columns_in(factor)
            for term in self.terms
            for factor in term
        )
        return tuple(dict.fromkeys(name for names in found for name in names))

    def coded(self, categories: Mapping[str, str], *, intercept: bool, all_levels: bool) -> list[tuple[Factor, ...]]:
        """Return the terms of an encoding; `categories` has the column of each factor that is a category.

        With `all_levels` none is dropped, else as many as follow from the others and the intercept.
        """
        formulaic = _formulaic()
        import pandas as pd

        factors = list(dict.fromkeys(factor for term in self.terms for factor in term))
        stand_in = {factor: f"f{place}" for place, factor in enumerate(factors)}
        # Made-up columns with names of our own: nothing of the formula is worked out here.
        frame = pd.DataFrame(
            {
                name: pd.Categorical(["a", "b", "c"]) if factor in categories else [1.0, 2.0, 4.0]
                for factor, name in stand_in.items()
            }
        )
        text = " + ".join(["1" if intercept else "0", *(":".join(map(stand_in.__getitem__, t)) for t in self.terms)])
        spec = formulaic.model_matrix(text, frame, ensure_full_rank=not all_levels).model_spec
        written = {name: factor for factor, name in stand_in.items()}
        terms: list[tuple[Factor, ...]] = []
        for structure in spec.structure:
            for scoped in structure.scoped_terms:
                found = [(written[each.factor.factor.expr], each.reduced) for each in scoped.factors]
                if found:
                    terms.append(
                        tuple(
                            Factor(categories[factor], True, bool(reduced)) if factor in categories else Factor(factor)
                            for factor, reduced in found
                        )
                    )
        return terms


def read_formula(text: str, known: Sequence[str] = ()) -> Formula:
    """Read a formula; `known` are the columns that a dot stands for.

    >>> formula = read_formula("log(price) ~ size * C(city) - 1")
    >>> formula.targets, formula.terms, formula.columns, formula.intercept
    (('log(price)',), (('size',), ('C(city)',), ('size', 'C(city)')), ('size', 'city'), False)
    """
    formulaic = _formulaic()
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"formula must be text such as 'y ~ x1 + C(city)', got {text!r}.", "formula")
    try:
        parsed = formulaic.Formula(text, _context={"__formulaic_variables_available__": list(known)})
        left = [_written(term) for term in parsed.lhs] if hasattr(parsed, "lhs") else []
        right = [_written(term) for term in (parsed.rhs if hasattr(parsed, "rhs") else parsed)]
    except Exception as error:  # its parser raises errors of many classes
        reason = " ".join(str(error).split("\n\n")[0].split()).rstrip(".")
        raise InvalidInputError(f"formula {text!r} cannot be used: {reason}.", "formula") from error
    if wrong := [term for term in left if len(term) != 1]:
        raise InvalidInputError(f"formula must have targets before ~, got {':'.join(wrong[0])!r}.", "formula")
    terms = tuple(term for term in right if term != ("1",))
    categories = {f: _category(f, text) for term in terms for f in term if f.startswith("C(")}
    formula = Formula(text, tuple(term[0] for term in left), terms, ("1",) in right, categories)
    for target in formula.targets:
        if not columns_in(target):
            raise InvalidInputError(f"formula {text!r} has no column before ~.", "formula")
    if not formula.columns and not _dot(text):
        raise InvalidInputError(f"formula {text!r} names no column to learn from.", "formula")
    return formula


def _dot(text: str) -> bool:
    return "." in text.partition("~")[2].replace("+", " ").split()


def _written(term: Any) -> tuple[str, ...]:
    """Return the factors of a term; names of columns that are no plain words are in backquotes."""
    looked_up = [factor.eval_method.value == "lookup" for factor in term.factors]
    return tuple(
        quoted(factor.expr) if name else factor.expr for factor, name in zip(term.factors, looked_up, strict=True)
    )


def _category(factor: str, text: str) -> Asked:
    """Read C(...)."""
    try:
        call = ast.parse(factor.replace("`", "'"), mode="eval").body
        if not isinstance(call, ast.Call) or not call.args or len(call.args) > 2:
            raise ValueError
        name = call.args[0]
        column = name.value if isinstance(name, ast.Constant) else ast.unparse(name)
        levels, reference = None, None
        for word in call.keywords:
            if word.arg != "levels":
                raise ValueError
            levels = tuple(ast.literal_eval(word.value))
        for contrast in call.args[1:]:
            if not isinstance(contrast, ast.Call) or ast.unparse(contrast.func) != "contr.treatment":
                raise ValueError
            (base,) = [*contrast.args, *(word.value for word in contrast.keywords if word.arg == "base")]
            reference = str(ast.literal_eval(base))
        if not isinstance(column, str) or not isinstance(name, (ast.Name, ast.Attribute, ast.Constant)):
            raise ValueError
        return Asked(column, levels, reference)
    except (SyntaxError, ValueError, TypeError) as error:
        raise InvalidInputError(
            f"formula {text!r} cannot be used: {factor} must be C(column), C(column, levels=[...]) or "
            "C(column, contr.treatment('level')).",
            "formula",
        ) from error


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError as error:
        raise InvalidInputError(
            "formula needs formulaic, which is not installed: pip install 'robustream[formula]'", "formula"
        ) from error
    return formulaic
