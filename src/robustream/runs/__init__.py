"""How estimates are driven: rows are cut into batches, learned from, and folded into a `Run`, here or on an engine."""

from robustream.runs.run import Layout, Plan, Run

__all__ = ["Layout", "Plan", "Run"]
