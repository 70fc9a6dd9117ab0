"""How estimates are driven: a stream of rows is cut into batches, learned from, and folded into a value."""
