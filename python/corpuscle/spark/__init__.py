"""Corpuscle on Spark: estimators whose models score by ``mapInArrow``, without a jar.

>>> from corpuscle.spark import TextClassifier                                        # doctest: +SKIP
>>> model = TextClassifier(recipe="tfidf | svm", idCol="id").fit(labelled)            # doctest: +SKIP
>>> model.transform(documents).select("id", "prediction", "probability").show()       # doctest: +SKIP
>>> model.save("tickets")                    # doctest: +SKIP

DataFrames only, so the same calls work on Spark Connect. Executors tokenise and hand in packed words; the model has the bytes that
``corpuscle train`` writes for the same documents in the order of their ids, however they are partitioned and whichever executor is
lost on the way. Needs ``pip install corpuscle[spark]`` on the driver and the executors.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(f"corpuscle.spark needs {error.name}: pip install 'corpuscle[spark]'") from error

__all__ = ["TextClassifier", "TextClassifierModel", "TextVectorizer", "TextVectorizerModel"]


def __getattr__(name):
    # Executors need the workers' half alone, which is quick to import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from corpuscle.spark import _estimators

    return getattr(_estimators, name)


def __dir__():
    return sorted([*globals(), *__all__])
