"""Images with tags: the data set that comes along, spoiled batches, scores."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from robustream.paper.tags import Images, cut_images, held_out, load_clip_art, score_tags, whiten


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 4)).astype(np.float32)
    return Images(features, (features[:, :3] > 0).astype(np.float32), ["a", "b", "c"])


def test_the_data_set_that_comes_along():
    features, tags, names = load_clip_art()
    assert features.dtype == np.float32
    assert len(names) == tags.shape[1] == 200
    assert set(np.unique(tags)) == {0.0, 1.0}
    assert (features >= 0).all()
    # The tags are ordered by how common they were in the whole collection, of which this is a random part.
    assert tags[:, :10].sum() > 5 * tags[:, -10:].sum()


def test_its_licence_is_said():
    folder = files("robustream.paper") / "data" / "openclipart_tags"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "public domain" in text
    assert "Quantised" in text
    assert sum(len((folder / name).read_bytes()) for name in ("data.npz", "tags.json", "README.md")) < 5_000_000


def test_spoiled_batches_are_stretched_and_shuffled_and_the_others_are_not(images):
    train, test = held_out(images, seed=0)
    clean = cut_images(train, test, rows=50, batches=8, bad_share=0.0, seed=0)
    split = cut_images(train, test, rows=50, batches=8, bad_share=0.25, seed=0)
    assert len(split.batches) == 8
    assert len(split.bad) == 2
    for place, ((features, tags), (right, true)) in enumerate(zip(split.batches, clean.batches, strict=True)):
        if place in split.bad:
            np.testing.assert_array_equal(features, 10 * right)
            assert not np.array_equal(tags, true)
            np.testing.assert_array_equal(tags.sum(axis=0), true.sum(axis=0))
        else:
            np.testing.assert_array_equal(features, right)
            np.testing.assert_array_equal(tags, true)
    assert len(split.without_bad().batches) == 6


def test_nothing_that_is_learned_from_is_scored_on(images):
    train, test = held_out(images, seed=0)
    seen = {row.tobytes() for row in train.features}
    assert len(train.features) + len(test.features) == 500
    assert not seen & {row.tobytes() for row in test.features}


def test_scores():
    tags = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]])
    predicted = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.1], [1.0, 0.0, 1.0]])
    precision, average_precision = score_tags(predicted, tags)
    # One of two tags of the first image, the tag of the second; the third has none. The third tag has no image.
    assert precision == pytest.approx(0.75)
    assert average_precision == pytest.approx((0.5 + 1.0) / 2)


def test_whitened_features_have_no_correlation(images):
    train, test = whiten(*held_out(images, seed=0), columns=3)
    assert train.features.shape[1] == test.features.shape[1] == 3
    np.testing.assert_allclose(np.cov(train.features.T), np.eye(3), atol=1e-4)
    np.testing.assert_allclose(train.features.mean(axis=0), 0, atol=1e-4)
