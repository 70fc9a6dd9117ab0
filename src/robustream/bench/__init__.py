"""Measurements: how fast, how small and how right the library is, beside what people would use instead.

A measurement returns figures (`figures.Figure`), most of them ratios of two things timed in turns in one run, so
that a busy or a slow machine changes both. `suite` puts them together; the command line only shows them.
"""
