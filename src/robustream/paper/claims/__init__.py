"""Every claim of the paper as a row, judged by the stored numbers; one file for each group of experiments."""
