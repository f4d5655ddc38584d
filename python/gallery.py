"""Makes the pictures of docs/GALLERY.md from the embedded corpus: `python python/gallery.py`."""

import pathlib

import corpuscle

OUT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "gallery"

RECIPES = ["tfidf-svm", "tfidf-knn", "words(stem=english) | tfidf(sublinear=true) | svm", "lsi-svm", "varnorm-discriminant"]
FEW = ["tfidf-svm", "tfidf(sublinear=true) | lsi(100) | svm", "tfidf(sublinear=true) | dcot(300) | svm(self_training=true)"]


def main():
    texts, labels, new, truth = corpuscle.load_demo()
    corpuscle.compare(texts, labels, RECIPES, runs=10).plot().save(OUT / "compared.svg")
    counts = [14, 28, 56, 112, None]
    corpuscle.label_curve(texts, labels, FEW, counts, test=(new, truth), draws=5).plot().save(OUT / "few-labels.svg")
    corpuscle.tune(texts, labels, "tfidf(sublinear=true) | svm(c=0.01..100 log)", trials=20).plot().save(OUT / "tuned.svg")


if __name__ == "__main__":
    main()
