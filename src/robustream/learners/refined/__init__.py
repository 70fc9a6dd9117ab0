"""The refined learner and its steps.

`columns` says what is typical of each column, `separation` asks one-dimensional questions, `groups` finds foreign
groups of rows by them, `cells` finds single bad cells, `tails` follows heavy tails, `scatter` puts these together. For
regression, `solver` has the arithmetic, `starts` finds a robust fit, `mixture` and `polish` make it efficient, `joint`
has the moments that it amounts to, `regression` puts these together. `recipe` is the learner.
"""

from robustream.learners.refined.recipe import Refined

__all__ = ["Refined"]
