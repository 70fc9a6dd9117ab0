"""The experiments of the paper as data, and their runner.

- An `Experiment` (one file each: `figure_1a.py` ... `table_2.py`, `speed.py`, `theory.py`) says what the paper claims,
  how we set it up, which cells it needs, and how pictures, tables and verdicts come from the stored rows.
- A `Cell` is the least piece of work that is stored. Cells of a group share estimates: each batch is made and estimated
  once for all streams, orders, aggregators and figures.
- The `runner` works out what is not in the `Store` yet; a stopped run goes on where it was, and drawing costs nothing.
- `sections` turns stored rows into a page as plain data; `page` and `markdown` write it.

To add an experiment, write such a file and add it to `experiments.EXPERIMENTS`.
"""
