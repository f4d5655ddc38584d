"""Fitting where the matrix does not fit the driver: executors keep the documents and hand in sums.

1. Term counts of every partition merge into the vocabulary and document frequencies: one pass.
2. Documents are gathered into blocks by a hash of their keys (one shuffle) and kept there as rows of the representation.
3. Each iteration asks every block for a statistic; partitions add theirs up in whole numbers (:mod:`corpuscle.spark._blocks`), so
   neither the partitions nor a task that ran twice change a bit.

Statistics are returned rows, never accumulators.
"""

import json
import re

import numpy as np

from corpuscle import _native
from corpuscle.spark import _blocks, _solve, _worker
from corpuscle.spark._fit import _quoted, as_text

BLOCK = 4096
"""Documents of a block, about."""

_STOCHASTIC = "its word vectors are learnt by small steps over one document after another, which does not come apart into sums"
_REASONS = {
    **dict.fromkeys(["scdv", "bowv", "concepts", "average", "paragraph", "twe", "ltsg"], _STOCHASTIC),
    "dirichlet": "its topics are drawn token by token, each draw given all others",
    "knn": "every training document is part of the model",
    "sprinkle": "its confusion matrix comes from classifiers of held-out folds",
    "slsi": "each class needs a decomposition of its own documents",
    "local_lsi": "each class needs a decomposition of its own documents",
    "column": "it reads a field of numbers beside the texts",
}
_ADVICE = {
    "knn": "end the recipe with svm or logistic",
    "sprinkle": "use lsi in its place",
}


class Refused(ValueError):
    """A recipe that cannot be fitted by sums over documents."""


class Plan:
    """The stages of a recipe that is fitted by sums over documents."""

    def __init__(self, recipe):
        full = _native.check_recipe(recipe)[1]
        stages = [_stage(part) for part in _pipe(full)]
        self.words, stages = stages[0], stages[1:]
        self.vectorizer, stages = stages[0], stages[1:]
        if self.vectorizer[0] not in ("counts", "binary", "tfidf"):
            raise _refusal(self.vectorizer[0])
        self.lsi = self.classifier = None
        for name, arguments, text in stages:
            if name == "lsi" and self.lsi is None:
                self.lsi = (name, arguments, text)
            elif name in ("svm", "logistic") and self.classifier is None:
                self.classifier = (name, arguments, text)
            else:
                raise _refusal(name)
        if self.classifier is not None:
            _check_classifier(*self.classifier[:2])

    @property
    def first(self):
        """The recipe up to its vectorizer."""
        return f"{self.words[2]} | {self.vectorizer[2]}"

    @property
    def represented(self):
        """The recipe up to its classifier."""
        return self.first if self.lsi is None else f"{self.first} | {self.lsi[2]}"

    @property
    def whole(self):
        """The recipe as it is fitted: without the folds that make probabilities."""
        if self.classifier is None:
            return self.represented
        return f"{self.represented} | {re.sub(r'calibrate=[0-9]+', 'calibrate=0', self.classifier[2])}"


def _pipe(full):
    """The stages of a recipe in its full form."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, sign in enumerate(full):
        if sign == '"':
            quoted = not quoted
        elif not quoted:
            depth += (sign == "(") - (sign == ")")
            if sign == "|" and depth == 0:
                parts.append(full[start:at].strip())
                start = at + 1
    parts.append(full[start:].strip())
    return parts


def _stage(text):
    """Name, arguments and text of a stage."""
    match = re.fullmatch(r"([a-z_]+)(?:\((.*)\))?", text, re.DOTALL)
    if match is None:
        raise Refused(
            f"`{text}` puts representations side by side or weighs one, which is not fitted by sums over documents; give one stage after "
            'the other, or fit where the matrix fits the driver (fitting="driver")'
        )
    arguments = dict(re.findall(r'([a-z_]+)=("[^"]*"|[^,()]+)', match[2] or ""))
    return match[1], {name: value.strip().strip('"') for name, value in arguments.items()}, text


def _refusal(name):
    reason = _REASONS.get(name, "its fit is not written as sums over documents")
    advice = _ADVICE.get(name, 'fit on a sample that fits the driver (fitting="driver")')
    return Refused(f"`{name}` cannot be fitted on documents that stay on executors: {reason}; {advice}")


def _check_classifier(name, arguments):
    def need(argument, value, reason):
        if arguments.get(argument, value) != value:
            raise Refused(f"`{name}({argument}={arguments[argument]})` cannot be fitted on documents that stay on executors: {reason}")

    need("class_weight", "none", "classes are not weighed there; give documents weights (weightCol)")
    need("self_training", "false", "it learns from its own decisions about documents; fit on the driver")
    if arguments.get("c") == "auto":
        raise Refused(f"`{name}(c=auto)` cannot be fitted on documents that stay on executors: it needs folds; give a value of c")
    if name == "svm":
        need("loss", "squared_hinge", "the plain hinge has no gradient everywhere; use loss=squared_hinge")
        need("multiclass", "one_vs_rest", "Crammer and Singer's problem is solved document by document; use multiclass=one_vs_rest")
    else:
        need("multiclass", "multinomial", "only the multinomial loss is written as sums")


class Documents:
    """Blocks of documents on executors, and the sums they are asked for."""

    def __init__(self, frame):
        self.frame = frame
        self.passes = 0
        self.returned = 0
        rows = frame.mapInArrow(_worker.job("measure"), "block long, sizes array<double>").toArrow()
        # Sums of floats are added in the order of the blocks.
        sizes = np.array([size for _, size in sorted(zip(*(rows.column(name).to_pylist() for name in ("block", "sizes")), strict=True))])
        if not len(sizes):
            raise ValueError("there are no documents: the data are empty, or every text is null")
        self.documents, self.labelled = int(sizes[:, 0].sum()), int(sizes[:, 1].sum())
        self.counts, self.squares = float(sizes[:, 2].sum()), float(sizes[:, 3].sum())
        self.longest, self.largest = float(sizes[:, 4].max()), float(sizes[:, 5].max())

    def ask(self, name, shapes, bounds, **payload):
        """The sums of a statistic: arrays of these shapes, no entry of which is beyond its bound."""
        steps = [_blocks.step_for(bound) for bound in bounds]
        work = _worker.job("reduce", name=name, payload=payload, steps=steps)
        rows = self.frame.mapInArrow(work, "parts array<binary>").toArrow().column(0).to_pylist()
        self.passes += 1
        self.returned += sum(len(part) for row in rows for part in row)
        sums = []
        for place, (shape, step) in enumerate(zip(shapes, steps, strict=True)):
            total = sum(np.frombuffer(row[place], dtype=np.int64) for row in rows)
            sums.append(np.asarray(total, dtype=np.float64).reshape(shape) * step)
        return sums


def fit(dataset, recipe, text, id_col, label_col, weight_col, keep, seed, sources):
    """The model of all documents, and what the fit took: a dict."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
    from pyspark.storagelevel import StorageLevel

    plan = Plan(recipe)
    run = _native.Run(seed, 0)
    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    for name in (text, id_col, label_col, weight_col):
        if name is not None and name not in kinds:
            raise ValueError(f"there is no column `{name}`; there are {', '.join(kinds)}")
    told = F.col(_quoted(text))
    columns = [told.alias("text"), (told if id_col is None else F.col(_quoted(id_col))).alias("key")]
    if id_col is None:
        columns[1] = F.sha2(told, 256).alias("key")
    classes = []
    if label_col is not None and plan.classifier is not None:
        label, kind = as_text(F.col(_quoted(label_col)), kinds[label_col], F, T)
        if not isinstance(kind, T.StringType):
            raise Refused("several labels a document are not fitted on documents that stay on executors; fit on the driver")
        columns.append(label.alias("label"))
        found = dataset.select(label.alias("label")).where("label is not null").distinct().toArrow().column(0).to_pylist()
        classes = sorted(found)
        if len(classes) < 2:
            raise ValueError(f"`{plan.classifier[0]}` needs at least two classes to tell apart; there are {len(classes)}")
    if weight_col is not None:
        columns.append(F.col(_quoted(weight_col)).cast("double").alias("weight"))
    chosen = dataset.select(*columns)

    work = _worker.job("count", recipe=plan.first, text="text", keep=keep)
    parts = chosen.select("text").mapInArrow(work, "counts binary").toArrow().column(0).to_pylist()
    if not parts:
        raise ValueError("there are no documents: the data are empty, or every text is null")
    about = {"counts_bytes": sum(map(len, parts))}
    parts = [_native.merge_terms(parts, run)]
    first, documents, _ = _native.representation_of_counts(plan.first, parts, run)

    blocks = max(1, -(-documents // BLOCK))
    schema = "block long, columns long, indptr binary, indices binary, values binary, codes binary, counts binary"

    def laid_out(model):
        data = model.to_bytes()
        source = (_digest(data), data, None)
        keyed = chosen.withColumn("block", F.pmod(F.xxhash64("key"), F.lit(blocks)))
        work = _worker.group_job("block", source=source, classes=classes, keep=keep)
        return keyed.groupBy("block").applyInArrow(work, schema).persist(StorageLevel.MEMORY_AND_DISK)

    frame = laid_out(first)
    try:
        held = Documents(frame)
        lsi = None
        if plan.lsi is not None:
            lsi = _lsi(held, first, int(plan.lsi[1]["rank"]), seed)
            about |= {"lsi_passes": held.passes, "lsi_bytes": held.returned}
        weighed = None
        if plan.classifier is not None:
            if lsi is not None:
                whole = _native.assemble(plan.represented, parts, lsi, None, [], 0, [], run)
                frame.unpersist()
                frame = laid_out(whole)
                held = Documents(frame)
            weighed, passes = _classifier(held, plan.classifier, len(classes))
            about |= {"passes": passes, "bytes": held.returned}
        model = _native.assemble(plan.whole, parts, lsi, weighed, classes, held.labelled if classes else 0, list(sources), run)
    finally:
        frame.unpersist()
    return model, about


def _digest(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _lsi(held, model, rank, seed):
    """Singular vectors, singular values and shares of the variance."""
    columns = len(model.feature_names)

    def ask(name, vectors):
        return held.ask(name, [vectors.shape], [held.squares], vectors=vectors)[0]

    values, vectors = _solve.leading(ask, columns, rank, seed)
    alive = values > 1e-7 * max(values[0], 1e-300) if len(values) else []
    values, vectors = values[alive], vectors[:, alive]
    if not len(values):
        raise ValueError("lsi: the matrix holds only zeros, so there is nothing to project on")
    (sums,) = held.ask("column_sums", [(columns,)], [held.documents * max(held.largest, 1e-300)])
    mean = sums / held.documents
    spread = held.squares / held.documents - mean @ mean
    explained = (values**2 / held.documents - (vectors.T @ mean) ** 2) / spread if spread > 0 else np.zeros(len(values))
    return np.ascontiguousarray(vectors, dtype=np.float32), values, explained


def _classifier(held, stage, classes):
    """Weights and biases of a linear classifier, and how many passes they took."""
    name, arguments, _ = stage
    price, tolerance = float(arguments["c"]), float(arguments["tolerance"])
    columns = _columns(held)
    shape = (columns + 1, classes)
    penalty = np.ones((columns + 1, 1))
    if name == "svm":
        kind, gap, constant = "hinge", _solve.hinge_gap, float(arguments["bias"])
    else:
        kind, gap, constant = "softmax", _solve.softmax_gap, float(arguments["bias"] == "true")
        penalty[-1] = 0.0
    if constant == 0.0:
        penalty[-1] = 1.0
    entry = max(held.largest, constant, constant**2, 1.0)
    total = price * max(held.counts, 1e-300)

    def reach(weights):
        # No score is beyond this, by the length of the weights and of the longest row.
        lengths = np.sqrt((weights[:-1] ** 2).sum(axis=0)) * held.longest + np.abs(weights[-1]) * max(constant, 1.0)
        return 1.0 + float(lengths.max())

    def ask(what, weights, direction=None):
        far = reach(weights)
        payload = {"weights": weights, "price": price, "constant": constant}
        if what == "loss":
            bounds = [4 * total * classes * far**2, 4 * total * far * entry**2, 4 * total * entry**2]
            return held.ask(f"{kind}_loss", [(2,) if kind == "hinge" else (1,), shape, shape], bounds, **payload)
        bound = 4 * total * reach(direction) * entry**2
        return held.ask(f"{kind}_curve", [shape], [bound], **payload, direction=direction)[0]

    w, passes, _, reached = _solve.newton(ask, shape, penalty, gap, tolerance / 2, int(arguments["max_iter"]))
    bias = w[-1] * (constant if name == "svm" else 1.0) if constant else np.zeros(classes)
    weights = np.ascontiguousarray(w[:-1], dtype=np.float32)
    return (name, _arguments(arguments), weights, bias.astype(np.float32), passes, float(reached)), passes


def _columns(held):
    return int(held.frame.select("columns").limit(1).toArrow().column(0)[0].as_py())


def _arguments(arguments):
    """The classifier's own arguments: those of its frame are the recipe's."""
    return json.dumps({name: value for name, value in arguments.items() if name not in ("calibrate", "self_training")})
