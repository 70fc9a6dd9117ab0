"""Messages of the library in the words of the command line: what Python calls `batch_size=` is `--batch-size` here."""

from __future__ import annotations

import re

__all__ = ["as_options"]

_NAMES = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "aggregator", "alpha", "batch_size", "checkpoint", "checkpoint_every", "columns", "deadline", "decimal",
        "engine", "enough", "exclude", "half_life", "join_small_files", "learner", "missing", "on_error",
        "quorum", "resume", "separator", "standardize", "target", "tolerance",
    )
}  # fmt: skip
_NAMES |= {"n_components": "--components", "random_state": "--seed", "n_jobs": "--jobs", "fit_intercept": "--intercept"}

_LISTED = "|".join(_NAMES)
# An argument with a value, as missing='skip'; one that a sentence begins with, as "columns must"; and names that are no
# words of English, wherever they are.
_ASSIGNED = re.compile(rf"\b({_LISTED})=(True|\[\.\.\.\]|'([^']*)')?(?: \(--[a-z-]+ [A-Z]+\))?")
_FIRST = re.compile(rf"^({_LISTED})(?= must| needs| is for)")
_ANYWHERE = re.compile(rf"(?<![\w-])({'|'.join(name for name in _NAMES if '_' in name)})\b")


def as_options(text: str) -> str:
    """Spell the arguments that a message names as options.

    >>> as_options("exclude=[...] (--exclude NAME) leaves columns out.")
    '--exclude NAME leaves columns out.'
    >>> as_options("go on from it with resume=True; missing='skip' leaves such rows out; batch_size is small")
    'go on from it with --resume; --missing skip leaves such rows out; --batch-size is small'
    """
    text = _ASSIGNED.sub(lambda found: f"{_NAMES[found[1]]}{_value(found)}", text)
    text = _FIRST.sub(lambda found: _NAMES[found[1]], text)
    return _ANYWHERE.sub(lambda found: _NAMES[found[1]], text)


def _value(found: re.Match[str]) -> str:
    if found[3] is not None:
        return f" {found[3]}"
    return " NAME" if found[2] == "[...]" else ""
