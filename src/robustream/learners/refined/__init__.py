"""The refined learner and its steps.

`separation` asks one-dimensional questions, `groups` finds foreign groups of rows by them, `cells` finds single bad
cells, `tails` follows heavy tails, `scatter` puts these together. For regression, `solver` has the arithmetic, `starts`
finds a robust fit, `mixture` and `polish` make it efficient, `regression` puts these together. `recipe` is the learner.
"""

from robustream.learners.refined.recipe import Refined

__all__ = ["Refined"]
