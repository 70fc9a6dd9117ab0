"""Free functions on plain arrays: what everything else is built from."""
