"""Arithmetic over columns, such as log(x2) or x1 / x2: what a formula may say of numbers, and nothing more.

Expressions come from people and from model files. They are read as Python's grammar has them and worked out here, node
by node: names are columns, functions are those of a list, and anything else is refused, so that no file can run code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import InvalidInputError

__all__ = ["FUNCTIONS", "columns_in", "evaluate", "is_column", "quoted"]

# `days` takes a column of dates; the others take numbers. `I` is there so that a formula can hold arithmetic.
FUNCTIONS = ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sin", "cos", "I", "days")
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
# Longer than any person writes, and short enough that no file makes the parser run out of stack.
_LONGEST = 1000
_QUOTED = re.compile(r"`([^`]*)`")

Numbers = Callable[[str], NDArray[Any]]


def quoted(name: str) -> str:
    """Return a name of a column as expressions have it: in backquotes unless it is a plain word.

    >>> quoted("size"), quoted("floor area")
    ('size', '`floor area`')
    """
    return name if name.isidentifier() else f"`{name}`"


def is_column(expression: str) -> bool:
    """Tell whether an expression is a column as it is.

    >>> is_column("size"), is_column("`floor area`"), is_column("log(size)")
    (True, True, False)
    """
    return [quoted(name) for name in columns_in(expression)] == [expression]


def columns_in(expression: str) -> tuple[str, ...]:
    """Return the columns that an expression needs, or raise InvalidInputError for what is none.

    >>> columns_in("log(size) / `floor area`")
    ('size', 'floor area')
    """
    return _parse(expression)[1]


def evaluate(expression: str, numbers: Numbers, days: Numbers) -> NDArray[Any]:
    """Return the values of an expression; what is not defined, such as log(0), is NaN.

    Parameters
    ----------
    numbers, days : return a column as numbers, and a column of dates as days since 1970.

    Examples
    --------
    >>> evaluate("log(x) + 1", lambda name: np.array([1.0, 0.0, np.inf]), lambda name: np.empty(0))
    array([ 1., nan, inf])
    """
    tree, columns = _parse(expression)
    if isinstance(tree, ast.Name):
        return numbers(columns[0])
    names = dict(zip(_order(tree), columns, strict=True))
    used: list[NDArray[Any]] = []

    def column(node: ast.AST, source: Numbers) -> NDArray[Any]:
        used.append(np.asarray(source(names[_name(node)]), np.float64))
        return used[-1]

    def value(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return np.float64(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.Compare):
            return _OPERATORS[type(node.ops[0])](value(node.left), value(node.comparators[0])).astype(np.float64)
        if isinstance(node, ast.Call):
            function = _name(node.func)
            if function == "days":
                return column(node.args[0], days)
            inner = value(node.args[0])
            return inner if function == "I" else getattr(np, function)(inner)
        return column(node, numbers)

    with np.errstate(all="ignore"):
        found = np.asarray(value(tree), np.float64)
        known = np.all([np.isfinite(each) for each in used], axis=0)
        # An infinite cell of the table stays one; one that arithmetic made is a value that does not exist.
        return np.where(np.isfinite(found) | ~known, found, np.nan)


@lru_cache(maxsize=1024)
def _parse(expression: str) -> tuple[ast.expr, tuple[str, ...]]:
    """Return the tree of an expression and the columns in it, in the order of `_order`."""
    spelled: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        spelled.append(match[1])
        return f"_column_{len(spelled) - 1}_"

    try:
        if len(expression) > _LONGEST:
            raise ValueError(f"it is longer than {_LONGEST} characters")
        tree = ast.parse(_QUOTED.sub(stand_in, expression.strip()), mode="eval").body
        _check(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = "it makes no sense" if isinstance(error, SyntaxError) else str(error)
        raise InvalidInputError(f"the expression {expression[:60]!r} cannot be used: {reason}.", "formula") from error
    stand_ins = {f"_column_{place}_": name for place, name in enumerate(spelled)}
    return tree, tuple(stand_ins.get(name, name) for name in _order(tree))


def _check(node: ast.AST) -> None:
    """Raise ValueError for whatever is not arithmetic over columns."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        _name(node)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in _OPERATORS:
        for part in (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,):
            _check(part)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        _check(node.left)
        _check(node.comparators[0])
    elif isinstance(node, ast.Call):
        if _name(node.func) not in FUNCTIONS:
            raise ValueError(f"there is no function {_name(node.func)!r}; there are {', '.join(FUNCTIONS)} and C")
        if len(node.args) != 1 or node.keywords:
            raise ValueError(f"{_name(node.func)} takes one argument")
        if _name(node.func) == "days":
            _name(node.args[0])
        _check(node.args[0])
    else:
        raise ValueError(f"{ast.unparse(node)[:40]!r} is no arithmetic over columns")


def _name(node: ast.AST) -> str:
    """Return a name, which may have dots in it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise ValueError(f"{ast.unparse(node)[:40]!r} is no name")


def _order(tree: ast.AST) -> tuple[str, ...]:
    """Return the names in a tree that are columns, each once."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            found[_name(node)] = None
            return
        children = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        for child in children:
            visit(child)

    visit(tree)
    return tuple(found)
