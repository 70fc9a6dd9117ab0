"""The gauntlet: many kinds of contamination, ours and the peers, each beside the oracle that saw the clean rows alone.

A case (`cases.Case`) is data: which contamination, how much of it, in which design, in batches of which size. With a
seed it gives a `contamination.Sample`: batches, the mask of their clean rows, and the truth. Methods (`peers.Method`)
turn a sample into an estimate; `run` fits them all and keeps errors and seconds; `summary` and `picture` show what was
kept. A new kind of contamination is one function in `contamination`, a new peer one in `peers`.
"""
