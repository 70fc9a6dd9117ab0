"""Puts the page of a reproduction among the documentation: `python docs/paper_page.py RESULTS`.

RESULTS is the folder that `robustream reproduce all --out RESULTS` wrote.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
LINK = "Where each piece of the paper is in the code: [From the paper to the code](from-the-paper-to-the-code.md)."


def main(results: Path) -> None:
    """Copy the Markdown page and its pictures, in place of those that are there."""
    pictures = DOCS / "images" / "paper"
    shutil.rmtree(pictures, ignore_errors=True)
    shutil.copytree(results / "figures", pictures)
    text = (results / "index.md").read_text(encoding="utf-8").replace("](figures/", "](images/paper/")
    title, _, rest = text.partition("\n\n")
    (DOCS / "paper.md").write_text(f"{title}\n\n{LINK}\n\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
