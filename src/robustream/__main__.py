"""`python -m robustream` is the command line."""

from robustream.cli import main

if __name__ == "__main__":
    main(prog_name="robustream")
