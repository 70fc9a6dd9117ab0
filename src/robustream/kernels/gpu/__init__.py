"""The kernels on a GPU: the same kept sets as `robustream.kernels.reference`, sums in double precision.

Nothing here is imported before a GPU is asked for; only this folder imports CuPy. `device` finds CuPy and compiles,
`pairs` has trimmed products of all pairs of columns, `digits` the slow and sure way for the few pairs that brackets
miss, `signs` the product with targets of +1 and -1, `columns` medians, `products` second moments, `median` the
geometric median; `rows` makes arrays there look like NumPy's, and `lending` brings them over.
"""
