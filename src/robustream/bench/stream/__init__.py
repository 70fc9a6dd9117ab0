"""Files larger than memory: time and memory beside reading them and beside scikit-learn, and whether a stop is right."""
