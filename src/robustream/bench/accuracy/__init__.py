"""The gauntlet: many kinds of dirt, ours and the peers, each beside the oracle that saw the clean rows alone.

A case (`cases.Case`) is data: which dirt, how much of it, in which design, in batches of which size. With a seed it
gives a `sample.Sample`: batches, the mask of their clean rows, and the truth. Methods (`methods.Method`) turn a
sample into an estimate; `run` fits them all and keeps errors and seconds; `store`, `table` and `picture` show what
was kept. A new kind of dirt is one function in `dirt`, a new peer one in `peers`.
"""
