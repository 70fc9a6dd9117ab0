"""The experiments of the paper as data, and their runner.

- An `Experiment` (`online.py`, `distributed.py`, `table_1.py`, `table_2.py`, `table_2_scale.py`, `speed.py`,
  `theory.py`) says what the paper claims, how we set it up, which cells it needs, and how pictures, tables and verdicts
  come from the stored rows.
- A `Cell` is the least piece of work that is stored. Cells of a group share estimates: each batch is made and estimated
  once for all streams, orders, aggregators and figures.
- The `runner` works out what is not in the `Store` yet; a stopped run goes on where it was, and drawing costs nothing.
- `page` turns stored rows into a page as plain data, and writes it.

To add an experiment, write such a file and add it to `experiments.EXPERIMENTS`.
"""
