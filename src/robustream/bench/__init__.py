"""Measurements: how fast, how small and how right the library is, beside what people would use instead.

A measurement returns figures (`measurement.Figure`). `kernels`, `stream`, `distributed` and `accuracy` are what the
commands of `robustream bench` run; `contaminated_stream` is what `robustream demo` shows.
"""
