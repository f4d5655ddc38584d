"""Estimators and models as Spark ML has them."""

import hashlib

from pyspark import keyword_only
from pyspark.ml.base import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasHandleInvalid,
    HasInputCol,
    HasLabelCol,
    HasOutputCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasSeed,
    HasWeightCol,
)
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable, MLReadable, MLWritable
from pyspark.sql import types as T

from corpuscle import _native
from corpuscle.spark import _distributed, _fit, _worker
from corpuscle.spark._storage import ModelReader, ModelWriter, ParamsWriter


def _param(name, doc, convert=TypeConverters.toString):
    return Param(Params._dummy(), name, doc, typeConverter=convert)


class _Scoring(HasInputCol, HasHandleInvalid):
    """What every model needs to know of its input."""

    handleInvalid = _param("handleInvalid", "what a text that is not UTF-8 does: error, or keep the row without an answer")
    modelPath = _param(
        "modelPath", "where executors read the model's file (a path or address that all of them have); without it the bytes are sent"
    )

    def setInputCol(self, value):
        """The column of texts."""
        return self._set(inputCol=value)

    def setHandleInvalid(self, value):
        """What a text that is not UTF-8 does: error or keep."""
        return self._set(handleInvalid=value)

    def setModelPath(self, value):
        """Where executors read the model's file."""
        return self._set(modelPath=value)

    def _keeps(self):
        value = self.getOrDefault(self.handleInvalid)
        if value not in ("error", "keep"):
            raise ValueError(f"handleInvalid = {value!r} must be 'error' or 'keep'")
        return value == "keep"


class _Fitting(_Scoring, HasLabelCol, HasWeightCol, HasSeed):
    """What a fit needs to know."""

    recipe = _param("recipe", "a recipe, such as 'words(stem=english) | tfidf | svm', or the name of a preset")
    idCol = _param("idCol", "the column whose order is that of the documents; without it the SHA-256 of their texts is")
    precision = _param("precision", "how wide dense weights are kept: compact or full")
    fitting = _param(
        "fitting",
        "where the fit is made: driver (the same bytes as on one machine; the matrix must fit the driver), or distributed (documents "
        "stay on executors, which hand in sums; for counts, binary or tfidf, then ig, lsi, varnorm, discriminant, dcot and normalize, "
        "then svm or logistic)",
    )
    sources = _param("sources", "names of the data files, to be kept in the model as the command does", TypeConverters.toListString)

    def setRecipe(self, value):
        """The recipe or the name of a preset."""
        return self._set(recipe=value)

    def getRecipe(self):
        """The recipe or the name of a preset."""
        return self.getOrDefault(self.recipe)

    def setLabelCol(self, value):
        """The column of labels."""
        return self._set(labelCol=value)

    def setIdCol(self, value):
        """The column whose order is that of the documents."""
        return self._set(idCol=value)

    def setWeightCol(self, value):
        """The column of what each document counts."""
        return self._set(weightCol=value)

    def setFitting(self, value):
        """Where the fit is made: driver or distributed."""
        return self._set(fitting=value)

    def setSeed(self, value):
        """The seed."""
        return self._set(seed=value)

    def write(self):
        """A writer of the params."""
        return ParamsWriter(self)

    def _named(self, param):
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _checked(self):
        recipe = self.getOrDefault(self.recipe)
        if not recipe:
            raise ValueError("give a recipe, such as 'tfidf | svm', or the name of a preset; on Spark none is looked for")
        return _native.check_recipe(recipe)


class _Answering(HasPredictionCol, HasProbabilityCol):
    """The columns that a classifier adds; an empty name leaves one out."""

    explanationCol = _param("explanationCol", "the column of the terms behind each answer; none unless named")
    explanationTerms = _param("explanationTerms", "how many terms an explanation has at most", TypeConverters.toInt)

    def setPredictionCol(self, value):
        """The column of labels given."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value):
        """The column of probabilities; empty for none, which is quicker."""
        return self._set(probabilityCol=value)

    def setExplanationCol(self, value):
        """The column of explanations."""
        return self._set(explanationCol=value)

    def setExplanationTerms(self, value):
        """How many terms an explanation has at most."""
        return self._set(explanationTerms=value)


class _Fitted(Model, MLWritable, MLReadable):
    """A model's bytes, and how executors come by them."""

    def __init__(self, data=None, labelType="string"):
        super().__init__()
        self.modelBytes = data
        self.labelType = labelType
        self._native_model = None
        self._setDefault(inputCol="text", handleInvalid="error")

    @property
    def _local(self):
        if self._native_model is None:
            self._native_model = _native.Model.from_bytes(self.modelBytes)
        return self._native_model

    def __getstate__(self):
        return {**self.__dict__, "_native_model": None}

    @property
    def fittedRecipe(self):
        """The recipe that was fitted, every value written out."""
        return self._local.full_recipe

    @property
    def notes(self):
        """What was found and reached in fitting."""
        return dict(self._local.notes)

    def saveFile(self, path):
        """Writes the model's file alone, to a path of this process: what the command ``corpuscle`` reads."""
        self._local.save(path)

    def _source(self):
        digest = hashlib.sha256(self.modelBytes).hexdigest()
        if self.isDefined(self.modelPath):
            return digest, None, self.getOrDefault(self.modelPath)
        return digest, self.modelBytes, None

    def write(self):
        """A writer of the model's folder."""
        return ModelWriter(self)

    @classmethod
    def read(cls):
        """A reader of a model's folder."""
        return ModelReader(cls)

    def _free(self, dataset, names):
        for name in names:
            if name in dataset.columns:
                raise ValueError(f"there is a column `{name}` already")
        text = self.getOrDefault(self.inputCol)
        if text not in dataset.columns:
            raise ValueError(f"there is no column `{text}` of texts; there are {', '.join(dataset.columns)}")
        return text


class TextClassifier(Estimator, _Fitting, _Answering, DefaultParamsReadable, DefaultParamsWritable):
    """A recipe from texts to labels, as an estimator of Spark.

    Parameters
    ----------
    recipe : a recipe or the name of a preset.
    inputCol, labelCol : the columns of texts and of labels (texts, numbers, or lists of texts; null where a document has none).
    idCol : a column whose order is the order of documents; without it the SHA-256 of the texts is. The model does not depend on
        how documents are partitioned.
    weightCol : what each document counts.
    predictionCol, probabilityCol, explanationCol : the columns that the model adds. The prediction has the type of the labels;
        probabilities stand in the order of the model's `classes`.
    fitting : "driver", or "distributed" where the matrix does not fit the driver: documents stay on executors, which hand in sums. The
        model then has no probabilities from held-out folds, and is the same whatever the partitions.
    seed, precision, sources, handleInvalid : as in :class:`corpuscle.TextClassifier`; see the params' own lines.
    """

    @keyword_only
    def __init__(
        self,
        *,
        recipe="tfidf-svm",
        inputCol="text",
        labelCol="label",
        idCol=None,
        weightCol=None,
        predictionCol="prediction",
        probabilityCol="probability",
        explanationCol=None,
        explanationTerms=10,
        handleInvalid="error",
        modelPath=None,
        seed=_native.DEFAULT_SEED,
        precision="compact",
        updatable=False,
        fitting="driver",
        sources=(),
    ):
        super().__init__()
        self._setDefault(**_DEFAULTS, **_ANSWERS, updatable=False)
        self._set(**_given(self._input_kwargs))

    updatable = _param("updatable", "whether the model keeps counts of its documents, to add more", TypeConverters.toBoolean)

    @keyword_only
    def setParams(self, **_):
        """Sets any of the constructor's parameters."""
        return self._set(**_given(self._input_kwargs))

    def _fit(self, dataset):
        if self._checked()[2] is None:
            recipe = self.getRecipe()
            raise ValueError(f"`{recipe}` is a representation only; end it with a classifier, such as `{recipe} | svm`")
        label = self.getOrDefault(self.labelCol)
        model = _fitted(self, dataset, label, self.getRecipe(), self.getOrDefault(self.updatable))
        kind = dataset.schema[label].dataType
        numeric = isinstance(kind, T.NumericType) and not isinstance(kind, T.DecimalType)
        fitted = TextClassifierModel(model.to_bytes(), kind.simpleString() if numeric else "string")
        return self._copyValues(fitted)


class TextClassifierModel(_Fitted, _Scoring, _Answering):
    """A fitted recipe that gives texts their labels."""

    def __init__(self, data=None, labelType="string"):
        super().__init__(data, labelType)
        self._setDefault(**_ANSWERS)

    @property
    def classes(self):
        """The classes, in the order of the probabilities."""
        names, order = _worker.classes_of(self._local, _ARROW.get(self.labelType))
        names = names.to_pylist()
        return names if order is None else [names[at] for at in order]

    def toLocal(self):
        """The same model for lists of texts in this process."""
        from corpuscle import TextClassifier as Local

        return Local._of(_native.Model.from_bytes(self.modelBytes), {})

    def _transform(self, dataset):
        named = [self.getOrDefault(self.predictionCol), self.getOrDefault(self.probabilityCol), None]
        if self.isDefined(self.explanationCol):
            named[2] = self.getOrDefault(self.explanationCol)
        out = tuple(name or None for name in named)
        text = self._free(dataset, [name for name in out if name])
        numeric, multi = self.labelType != "string", self._local.is_multi_label
        label = _SPARK[self.labelType]() if numeric else T.StringType()
        term = T.StructType([T.StructField("term", T.StringType()), T.StructField("amount", T.DoubleType())])
        kinds = (T.ArrayType(label) if multi else label, T.ArrayType(T.FloatType()), T.ArrayType(term))
        schema = T.StructType(list(dataset.schema.fields))
        for name, kind in zip(out, kinds, strict=True):
            if name:
                schema = schema.add(name, kind)
        work = _worker.job(
            "score",
            source=self._source(),
            text=text,
            out=out,
            keep=self._keeps(),
            top=self.getOrDefault(self.explanationTerms),
            kind=_ARROW.get(self.labelType),
            multi=multi,
        )
        return dataset.mapInArrow(work, schema)


class TextVectorizer(Estimator, _Fitting, HasOutputCol, DefaultParamsReadable, DefaultParamsWritable):
    """A recipe from texts to vectors, as an estimator of Spark; a recipe with a classifier is cut before it.

    `labelCol` is needed by recipes that learn from labels; `outputCol` is a column of Spark's vectors, for stages of Spark ML.
    """

    @keyword_only
    def __init__(
        self,
        *,
        recipe="tfidf",
        inputCol="text",
        outputCol="features",
        labelCol=None,
        idCol=None,
        weightCol=None,
        handleInvalid="error",
        modelPath=None,
        seed=_native.DEFAULT_SEED,
        precision="compact",
        fitting="driver",
        sources=(),
    ):
        super().__init__()
        self._setDefault(**{**_DEFAULTS, "recipe": "tfidf"}, outputCol="features")
        self.clear(self.labelCol)
        self._set(**_given(self._input_kwargs))

    def setOutputCol(self, value):
        """The column of vectors."""
        return self._set(outputCol=value)

    def _fit(self, dataset):
        self._checked()
        label = self.getOrDefault(self.labelCol) if self.isSet(self.labelCol) else None
        recipe = _native.representation_of(self.getRecipe())
        model = _fitted(self, dataset, label, recipe, False)
        return self._copyValues(TextVectorizerModel(model.to_bytes()))


class TextVectorizerModel(_Fitted, _Scoring, HasOutputCol):
    """A fitted recipe that gives texts their vectors."""

    def __init__(self, data=None, labelType="string"):
        super().__init__(data, labelType)
        self._setDefault(outputCol="features")

    def setOutputCol(self, value):
        """The column of vectors."""
        return self._set(outputCol=value)

    @property
    def vocabulary(self):
        """The terms of sparse columns, in their order."""
        return self._local.feature_names

    def _transform(self, dataset):
        from pyspark.ml.linalg import VectorUDT

        out = self.getOrDefault(self.outputCol)
        text = self._free(dataset, [out])
        schema = T.StructType([*dataset.schema.fields, T.StructField(out, VectorUDT())])
        work = _worker.job("represent", source=self._source(), text=text, out=out, keep=self._keeps())
        return dataset.mapInArrow(work, schema)


_DEFAULTS = {
    "recipe": "tfidf-svm",
    "inputCol": "text",
    "handleInvalid": "error",
    "seed": _native.DEFAULT_SEED,
    "precision": "compact",
    "fitting": "driver",
    "sources": [],
}
_ANSWERS = {"predictionCol": "prediction", "probabilityCol": "probability", "explanationTerms": 10}
_SPARK = {
    "tinyint": T.ByteType,
    "smallint": T.ShortType,
    "int": T.IntegerType,
    "bigint": T.LongType,
    "float": T.FloatType,
    "double": T.DoubleType,
}
_ARROW = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float32", "double": "float64"}


def _given(kwargs):
    return {name: list(value) if name == "sources" else value for name, value in kwargs.items() if value is not None}


def _fitted(estimator, dataset, label, recipe, updatable):
    text, id_col = estimator.getOrDefault(estimator.inputCol), estimator._named(estimator.idCol)
    weight, keep = estimator._named(estimator.weightCol), estimator._keeps()
    seed, precision = estimator.getOrDefault(estimator.seed), estimator.getOrDefault(estimator.precision)
    sources, fitting = estimator.getOrDefault(estimator.sources), estimator.getOrDefault(estimator.fitting)
    if fitting == "distributed":
        if updatable:
            raise ValueError("an updatable model keeps counts of its documents, which then are on executors; fit on the driver")
        return _distributed.fit(dataset, recipe, text, id_col, label, weight, keep, seed, precision, sources)[0]
    if fitting != "driver":
        raise ValueError(f"fitting = {fitting!r} must be 'driver' or 'distributed'")
    gathered = _fit.gather(dataset, recipe, text, id_col, label, weight, keep)
    return _fit.fit(gathered, recipe, seed, updatable, precision, sources)


# Where a saved pipeline looks for them.
for _class in (TextClassifier, TextClassifierModel, TextVectorizer, TextVectorizerModel):
    _class.__module__ = "corpuscle.spark"
