"""Files larger than memory: time and memory beside peers, and whether a run with a tolerance stops when it should."""
