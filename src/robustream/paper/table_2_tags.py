"""Table 2 on real tags: the cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.sizes import Size
from robustream.paper.tag_methods import Timed, fit_all, fit_direct
from robustream.paper.tags import (
    CIFAR_LABELS,
    Images,
    Split,
    cifar_folder,
    cut_images,
    held_out,
    load_cifar,
    load_clip_art,
    score_tags,
)

__all__ = ["tag_cells"]

# The images of CIFAR-10N come in no order; batches of this many leave 20 of them.
CIFAR_ROWS = 400
CIFAR_BATCHES = 20


class Tags(NamedTuple):
    """The settings of a cell: which images, with which tags, how many batches spoiled."""

    data: str  # "clip art", or the folder of the CIFAR-10N features
    labels: str
    bad: float
    repetition: int
    seed: int
    size: Size


def tag_cells(size: Size, seed: int, data: Path | None) -> Iterator[Cell]:
    """Give the cells; those of CIFAR-10N only where its folder is."""
    scale = (size.tag_columns / 1280) ** 2
    for repetition in range(size.tag_repetitions):
        own = 1000 * seed + repetition
        for bad in size.bad_tags:
            settings = Tags("clip art", "as typed", bad, repetition, own, size)
            # A group for each cell: they share nothing, and workers can then take them in any order.
            name = f"bad-{bad:g}"
            yield Cell(f"tags-{repetition}-{name}", name, run_tags, settings, 50 * scale)
    folder = cifar_folder(data)
    if folder is not None:
        for labels in CIFAR_LABELS:
            settings = Tags(str(folder), labels, 0.0, 0, 1000 * seed, size)
            yield Cell(f"cifar10n-{labels}", labels, run_tags, settings, 60 * scale)


def run_tags(settings: Tags, memory: Memory) -> list[Row]:
    """Fit every method, and ours with the spoiled batches left out, and score them on unspoiled images."""
    split = _split(settings)
    common: Row = {
        "data": "clip art" if settings.data == "clip art" else "CIFAR-10N",
        "labels": settings.labels,
        "bad": settings.bad,
        "repetition": settings.repetition,
        "batches": len(split.batches),
        "bad_batches": len(split.bad),
    }
    rows = [{**common, "method": name, **_score(timed, split)} for name, timed in fit_all(split.batches)]
    if split.bad:
        clean = split.without_bad()
        for name in ("ours", "ridge on everything"):
            timed = fit_direct(name, clean.batches)
            rows.append({**common, "method": f"{name}, spoiled batches left out", **_score(timed, clean)})
    return rows


def _split(settings: Tags) -> Split:
    size = settings.size
    if settings.data == "clip art":
        train, test = held_out(load_clip_art(), settings.seed)
        rows, batches = size.tag_rows, size.tag_batches
    else:
        train, test = load_cifar(Path(settings.data), settings.labels)
        rows, batches = CIFAR_ROWS, CIFAR_BATCHES
    return cut_images(_narrow(train, size), _narrow(test, size), rows, batches, settings.bad, settings.seed)


def _narrow(images: Images, size: Size) -> Images:
    return images._replace(features=np.ascontiguousarray(images.features[:, : size.tag_columns]))


def _score(timed: Timed, split: Split) -> Row:
    predicted = timed.predict(split.test_features)
    if not np.isfinite(predicted).all():
        # A diverged predictor ranks nothing.
        predicted = np.zeros_like(predicted)
    precision, average_precision = score_tags(predicted, split.test_tags)
    return {"precision": precision, "average_precision": average_precision, "seconds": timed.seconds}
