"""A two-layer classifier of scikit-learn's digits: trained in numpy, run through ptoc in float16.

In each layer the bias is the accumulator's start value, and ReLU and the conversion to float16 happen in B.FPATR, so
a layer is one chain of TMATMUL.ACC bundles per tile.
"""

import numpy as np

import ptoc

HIDDEN = 96


@ptoc.jit
def classify(images, weights1, bias1, weights2, bias2):
    hidden = np.maximum(bias1 + np.matmul(images, weights1, dtype=np.float32), 0).astype(np.float16)
    return bias2 + np.matmul(hidden, weights2, dtype=np.float32)


def train(images, labels, steps=300, rate=0.5):
    """Gradient descent on the softmax cross-entropy of a two-layer network, all in float32 numpy."""
    rng = np.random.default_rng(2)
    weights1 = (rng.standard_normal((images.shape[1], HIDDEN)) * 0.1).astype(np.float32)
    weights2 = (rng.standard_normal((HIDDEN, 10)) * 0.1).astype(np.float32)
    bias1, bias2 = np.zeros(HIDDEN, np.float32), np.zeros(10, np.float32)
    wanted = np.eye(10, dtype=np.float32)[labels]
    for _ in range(steps):
        hidden = np.maximum(images @ weights1 + bias1, 0)
        scores = hidden @ weights2 + bias2
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (scores / scores.sum(axis=1, keepdims=True) - wanted) / len(images)
        back = (error @ weights2.T) * (hidden > 0)
        weights2 -= rate * hidden.T @ error
        bias2 -= rate * error.sum(axis=0)
        weights1 -= rate * images.T @ back
        bias1 -= rate * back.sum(axis=0)
    return weights1, bias1, weights2, bias2


def dataset():
    """Images scaled to 0..1 and labels, split into a training and a test half."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(3).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order]
    half = len(labels) // 2
    return (images[:half], labels[:half]), (images[half:], labels[half:])


def inputs():
    (train_images, train_labels), (test_images, _) = dataset()
    weights1, bias1, weights2, bias2 = train(train_images, train_labels)
    return (
        test_images.astype(np.float16),
        weights1.astype(np.float16),
        bias1,
        weights2.astype(np.float16),
        bias2,
    )


def main():
    arrays = inputs()
    labels = dataset()[1][1]
    scores = classify(*arrays)
    plain = classify.function(*arrays)
    accuracy, plain_accuracy = ((s.argmax(axis=1) == labels).mean() for s in (scores, plain))
    print(f"{len(labels)} images: {accuracy:.1%} right through ptoc, {plain_accuracy:.1%} in plain numpy")
    report = ptoc.validate(classify, *arrays)
    print(report.verdict if report.ok else report)
    return 0 if report.ok and accuracy > 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
