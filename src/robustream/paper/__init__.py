"""The experiments of the paper as data, and their runner."""
