"""What happened in a run, as one self-contained page and as tables for the terminal."""
