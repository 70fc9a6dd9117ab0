"""The kernels on a GPU: the same kept sets as `robustream.kernels.reference`, sums in double precision.

Nothing here is imported before a GPU is asked for; only this folder imports CuPy. `api` has the public kernels for
arrays on a GPU, `device` finds CuPy and compiles, `trimmed_pairs` has trimmed products of all pairs of columns,
`selection` order statistics and the slow and sure way for the few pairs that brackets miss, `products` second moments
and products with targets of +1 and -1; `numpy_proxy` brings arrays over and makes them look like NumPy's.
"""
