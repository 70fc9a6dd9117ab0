"""Images with tags: the data sets of Table 2, how tags are spoiled, and how predictions are scored."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.sources import place_batches

__all__ = [
    "CIFAR_LABELS",
    "Images",
    "Scores",
    "Split",
    "cut_images",
    "data_folder",
    "held_out",
    "load_cifar",
    "load_clip_art",
    "load_delicious",
    "score_tags",
    "whiten",
]

Array = NDArray[np.float32]
# The labels of CIFAR-10N: of one careless annotator, of one annotator, of the majority of three, and the truth.
CIFAR_LABELS = ("worst", "random1", "aggre", "clean")
# How much the features of a spoiled image are stretched.
STRETCH = 10.0
# The number of tags, as in the paper.
TAGS = 200


class Images(NamedTuple):
    """Features (images x columns), tags as 0 and 1 (images x tags), and the names of the tags."""

    features: Array
    tags: Array
    names: list[str]


class Split(NamedTuple):
    """Batches to learn from, some of them spoiled, and images to be scored on."""

    batches: list[tuple[Array, Array]]
    bad: frozenset[int]
    test_features: Array
    test_tags: Array

    def without_bad(self) -> Split:
        """Leave the spoiled batches out."""
        return self._replace(batches=[batch for place, batch in enumerate(self.batches) if place not in self.bad])


class Scores(NamedTuple):
    """How well tags are predicted: precision at the number of true tags, and macro average precision."""

    precision: float
    average_precision: float


def load_clip_art() -> Images:
    """Load the Open Clip Art drawings that come with the package.

    >>> features, tags, names = load_clip_art()
    >>> features.shape, tags.shape, names[:3]
    ((6100, 1280), (6100, 200), ['computer', 'hash', 'icons'])
    """
    folder = files("robustream.paper") / "data" / "openclipart_tags"
    with as_file(folder / "data.npz") as path, np.load(path) as data:
        features = data["features"].astype(np.float32) * data["feature_scale"]
        tags = data["tags"].astype(np.float32)
    return Images(features, tags, json.loads((folder / "tags.json").read_text(encoding="utf-8")))


def data_folder(data: Path | None, name: str) -> Path | None:
    """Return the folder of a data set that does not come with the package, if it is there."""
    folder = None if data is None else data / name
    return folder if folder is not None and (folder / "data.npz").exists() else None


def load_delicious(folder: Path) -> Images:
    """Load bookmarked pages: words as 0 and 1, and the commonest tags that users gave them."""
    with np.load(folder / "data.npz") as data:
        features, tags = (np.zeros(data[f"{name}_shape"], np.float32) for name in "XY")
        features[data["X_row"], data["X_col"]] = 1
        tags[data["Y_row"], data["Y_col"]] = 1
    commonest = np.argsort(-tags.sum(axis=0), kind="stable")[:TAGS]
    names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    listed = names if isinstance(names, list) else [str(place) for place in range(tags.shape[1])]
    return Images(features, tags[:, commonest], [str(listed[place]) for place in commonest.tolist()])


def load_cifar(folder: Path, labels: str) -> tuple[Images, Images]:
    """Load images to learn from, with labels of some quality, and images to be scored on, with the true labels."""
    with np.load(folder / "data.npz") as data:
        scale = data["X_scale"]
        names = [str(number) for number in range(10)]
        one_of_ten = np.eye(10, dtype=np.float32)
        train = Images(data["Xtr_u8"].astype(np.float32) * scale, one_of_ten[data[f"ytr_{labels}"]], names)
        test = Images(data["Xte_u8"].astype(np.float32) * scale, one_of_ten[data["yte_clean"]], names)
    return train, test


def whiten(train: Images, test: Images, columns: int) -> tuple[Images, Images]:
    """Reduce features to their leading directions, each with mean 0 and variance 1: RoTR presumes that (Lemma 5).

    One transformation for all batches, made from the features that are learned from before any of them is spoiled.
    """
    center = train.features.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(np.cov((train.features - center).T))
    chosen = np.argsort(-variances)[:columns]
    matrix = directions[:, chosen] / np.sqrt(variances[chosen])
    return (
        train._replace(features=((train.features - center) @ matrix).astype(np.float32)),
        test._replace(features=((test.features - center) @ matrix).astype(np.float32)),
    )


def held_out(images: Images, seed: int, share: float = 0.2) -> tuple[Images, Images]:
    """Set a random part of the images aside for scoring; both parts come in random order."""
    order = np.random.default_rng([seed, 0]).permutation(len(images.features))
    number = round(share * len(order))
    test, rest = order[:number], order[number:]
    return (
        images._replace(features=images.features[rest], tags=images.tags[rest]),
        images._replace(features=images.features[test], tags=images.tags[test]),
    )


def cut_images(train: Images, test: Images, rows: int, batches: int, bad_share: float, seed: int) -> Split:
    """Cut images into batches and spoil a share of these.

    In a spoiled batch the tags are shuffled among the images and the features stretched tenfold.
    """
    count = min(batches, len(train.features) // rows)
    bad = frozenset(place_batches(round(bad_share * count), count, seed=seed).tolist())
    cut = []
    for place in range(count):
        piece = slice(place * rows, (place + 1) * rows)
        features, tags = train.features[piece], train.tags[piece]
        if place in bad:
            tags = tags[np.random.default_rng([seed, 1, place]).permutation(rows)]
            features = STRETCH * features
        cut.append((features, tags))
    return Split(cut, bad, test.features, test.tags)


def score_tags(predicted: NDArray[Any], tags: NDArray[Any]) -> Scores:
    """Score predictions (images x tags); tags that no image has, and images that have none, do not count.

    >>> score_tags(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[1, 0], [0, 1]]))
    Scores(precision=1.0, average_precision=1.0)
    """
    from sklearn.metrics import average_precision_score

    numbers = tags.sum(axis=1).astype(int)
    best = np.argsort(-predicted, axis=1, kind="stable")
    hits = np.take_along_axis(tags, best, axis=1)
    taken = np.arange(tags.shape[1]) < numbers[:, None]
    tagged = numbers > 0
    precision = (hits * taken).sum(axis=1)[tagged] / numbers[tagged]
    used = np.flatnonzero(tags.any(axis=0))
    average = [average_precision_score(tags[:, tag], predicted[:, tag]) for tag in used]
    return Scores(float(precision.mean()), float(np.mean(average)))
