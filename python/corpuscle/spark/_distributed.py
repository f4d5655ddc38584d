"""Fitting where the matrix does not fit the driver: executors keep the documents and hand in sums.

1. Term counts of every partition merge into the vocabulary and document frequencies: one pass.
2. Documents are gathered into blocks by a hash of their keys (the one shuffle of texts) and stay there.
3. Stage after stage, blocks are made rows of the representation so far, and each iteration (:mod:`corpuscle.spark._project`) asks every
   block for a statistic; partitions add theirs up in whole numbers (:mod:`corpuscle.spark._blocks`), so neither the partitions nor a
   task that ran twice change a bit.

Statistics are returned rows, never accumulators.
"""

import json
import re

import numpy as np

from corpuscle import _native
from corpuscle.spark import _blocks, _project, _solve, _worker
from corpuscle.spark._fit import _quoted, as_text

BLOCK = 4096
"""Documents of a block, about."""
FAN = 16
"""Sums that the driver adds up itself; those of more partitions are added up in groups on executors first."""

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
        self.projections, self.classifier = [], None
        for stage in stages:
            if stage[0] in _project.STAGES:
                _check_projection(*stage[:2])
                self.projections.append(stage)
            elif stage[0] in ("svm", "logistic"):
                _check_classifier(*stage[:2])
                self.classifier = stage
            else:
                raise _refusal(stage[0])

    @property
    def first(self):
        """The recipe up to its vectorizer."""
        return f"{self.words[2]} | {self.vectorizer[2]}"

    def represented(self, stages):
        """The recipe up to so many of its projections."""
        return " | ".join([self.first, *(text for _, _, text in self.projections[:stages])])

    @property
    def whole(self):
        """The recipe as it is fitted: without the folds that make probabilities."""
        represented = self.represented(len(self.projections))
        if self.classifier is None:
            return represented
        return f"{represented} | {re.sub(r'calibrate=[0-9]+', 'calibrate=0', self.classifier[2])}"

    @property
    def learns_from_labels(self):
        """The first stage that cannot do without labels, if any."""
        for name, arguments, _ in self.projections:
            if name in ("ig", "varnorm", "discriminant") or arguments.get("select") == "information_gain":
                return name
        return self.classifier[0] if self.classifier else None


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


def _check_projection(name, arguments):
    for argument in ("shrinkage", "noise", "weight"):
        if arguments.get(argument) == "auto":
            raise Refused(
                f"`{name}({argument}=auto)` cannot be fitted on documents that stay on executors: it needs folds; give a value"
            )


def _check_classifier(name, arguments):
    def need(argument, value, reason):
        if arguments.get(argument, value) != value:
            raise Refused(f"`{name}({argument}={arguments[argument]})` cannot be fitted on documents that stay on executors: {reason}")

    need("class_weight", "none", "classes are not weighed there; give documents weights (weightCol)")
    need("self_training", "false", "it learns from its own decisions about documents; fit on the driver")
    need("names", "false", "it learns from the words of the classes' names by folds; fit on the driver")
    if arguments.get("c") == "auto":
        raise Refused(f"`{name}(c=auto)` cannot be fitted on documents that stay on executors: it needs folds; give a value of c")
    if name == "svm":
        need("nb", "false", "each class would need documents scaled in its own way; fit on the driver")
        need("loss", "squared_hinge", "the plain hinge has no gradient everywhere; use loss=squared_hinge")
        need("multiclass", "one_vs_rest", "Crammer and Singer's problem is solved document by document; use multiclass=one_vs_rest")
    else:
        need("multiclass", "multinomial", "only the multinomial loss is written as sums")


class Documents:
    """Blocks of documents on executors, and the sums they are asked for."""

    def __init__(self, frame, classes, space, about):
        from pyspark.sql import functions as F

        self.frame, self.classes, self.space, self.about = frame, classes, space, about
        schema = "block long, columns long, dense long, negative long, sizes array<double>"
        rows = frame.mapInArrow(_worker.job("measure", classes=classes), schema)
        rows = rows.withColumn("partition", F.spark_partition_id()).toArrow().sort_by("block")
        if not rows.num_rows:
            raise ValueError("there are no documents: the data are empty, or every text is null")
        self.partitions = len(set(rows.column("partition").to_pylist()))
        self.columns, self.dense, self.negative = (rows.column(name)[0].as_py() for name in ("columns", "dense", "negative"))
        # Sums of floats are added in the order of the blocks.
        sizes = np.array(rows.column("sizes").to_pylist())
        self.longest, self.largest = (float(value) for value in sizes[:, :2].max(axis=0))
        sums = sizes[:, 2:].sum(axis=0)
        self.documents, self.labelled, self.counts = int(sums[0]), int(sums[1]), float(sums[2])
        self.squares_stored, self.squares, self.labelled_squares = (float(value) for value in sums[3:6])
        self.class_counts = sums[6:]

    @property
    def inner(self):
        """How many columns count as they are: the length of vectors that iterations go over."""
        return self.columns - self.negative

    def ask(self, name, shapes, bounds, **payload):
        """The sums of a statistic: arrays of these shapes, no entry of which is beyond its bound."""
        steps = [_blocks.step_for(bound) for bound in bounds]
        found = self.frame.mapInArrow(_worker.job("reduce", name=name, payload=payload, shapes=shapes, steps=steps), "parts array<binary>")
        if self.partitions > FAN:
            found = _in_groups(found, int(np.sqrt(self.partitions)))
        rows = found.toArrow().column(0).to_pylist()
        self.about["passes"] += 1
        self.about["bytes"] += sum(len(part) for row in rows for part in row)
        sums = []
        for place, (shape, step) in enumerate(zip(shapes, steps, strict=True)):
            total = sum(np.frombuffer(row[place], dtype=np.int64) for row in rows)
            sums.append(np.asarray(total, dtype=np.float64).reshape(shape) * step)
        return sums

    def gram(self, vectors):
        """XᵀX times vectors."""
        return self._product("gram_times", vectors, 1.0)

    def class_gram(self, vectors, weights):
        """XᵀNX times vectors over the labelled documents, N the weight of each one's class."""
        return self._product("class_gram_times", vectors, float(weights.max()), weights=weights)

    def labelled_gram(self, vectors):
        """XᵀX times vectors over the labelled documents."""
        return self.class_gram(vectors, np.ones(self.classes))

    def _product(self, name, vectors, weight, **payload):
        weights = self.space.weights(vectors)
        bound = weight * self.squares_stored * float(np.linalg.norm(weights, axis=0).max(initial=0.0))
        return self.space.back(self.ask(name, [weights.shape], [bound], vectors=weights, **payload)[0])

    def column_moments(self):
        """In how many documents each column stands, its sum, and the sum of its squares."""
        shape, largest = (self.columns, 1), max(self.largest, 1e-300)
        bounds = [self.documents, self.documents * largest, self.documents * largest**2]
        return self.ask("column_moments", [shape] * 3, bounds)

    def class_sums(self):
        """Of labelled documents: the sum of each class, and the squares of each column (without those that count negatively)."""
        shapes, largest = [(self.columns, self.classes), (self.columns, 1)], max(self.largest, 1e-300)
        sums, squares = self.ask("class_sums", shapes, [self.documents * largest, self.documents * largest**2], classes=self.classes)
        return self.space.back(sums), squares[: self.inner]

    def gains(self, classes):
        """Counts of labelled documents by term and class, a part for each partition."""
        parts = self.frame.mapInArrow(_worker.job("gains", classes=classes), "counts binary").toArrow().column(0).to_pylist()
        self.about["passes"] += 1
        self.about["bytes"] += sum(map(len, parts))
        return parts

    def sample(self, most):
        """Some documents as columns: the first of the first block, which a hash of keys has drawn."""
        from pyspark.sql import functions as F

        first = self.frame.agg(F.min("block")).toArrow().column(0)[0].as_py()
        schema = "block long, indptr binary, indices binary, values binary"
        row = self.frame.where(F.col("block") == first).mapInArrow(_worker.job("sample", most=most), schema).toArrow().to_pylist()[0]
        arrays = [np.frombuffer(row[name], kind) for name, kind in (("indptr", np.int64), ("indices", np.int32), ("values", np.float64))]
        return _blocks.rows_of(*arrays, self.columns).toarray().T


def _in_groups(parts, groups):
    """Sums of partitions added up in so many groups on executors."""
    from pyspark.sql import functions as F

    parts = parts.withColumn("group", F.spark_partition_id() % groups)
    return parts.groupBy("group").applyInArrow(_worker.group_job("add_up"), "parts array<binary>")


class _Given:
    """What stages of a fit have in common."""

    def __init__(self, run, seed, classes, names, exact):
        self.run, self.seed, self.classes, self.names, self.exact = run, seed, classes, names, exact


def fit(dataset, recipe, text, id_col, label_col, weight_col, keep, seed, precision, sources):
    """The model of all documents, and what the fit took: a dict."""
    from pyspark.sql import functions as F
    from pyspark.storagelevel import StorageLevel

    plan = Plan(recipe)
    run = _native.Run(seed, 0)
    chosen, classes = _chosen(dataset, plan, text, id_col, label_col, weight_col)
    work = _worker.job("count", recipe=plan.first, text="text", keep=keep)
    parts = chosen.select("text").mapInArrow(work, "counts binary").toArrow().column(0).to_pylist()
    if not parts:
        raise ValueError("there are no documents: the data are empty, or every text is null")
    about = {"counts_bytes": sum(map(len, parts)), "passes": 0, "bytes": 0, "stages": []}
    parts = [_native.merge_terms(parts, run)]
    model, documents, _ = _native.representation_of_counts(plan.first, parts, run)

    blocks = max(1, -(-documents // BLOCK))
    keyed = chosen.withColumn("block", F.pmod(F.xxhash64("key"), F.lit(blocks)))
    gather = _worker.group_job("block", classes=classes, keep=keep)
    schema = "block long, texts array<string>, codes binary, counts binary"
    gathered = keyed.groupBy("block").applyInArrow(gather, schema).persist(StorageLevel.MEMORY_AND_DISK)
    frames = [gathered]

    def rows_of(model, space):
        for old in frames[1:]:
            old.unpersist()
        data = model.to_bytes()
        work = _worker.job("rows", source=(_digest(data), data, None))
        frame = gathered.mapInArrow(work, _worker.ROWS_SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
        frames[1:] = [frame]
        return Documents(frame, len(classes), space, about)

    try:
        held, projections = rows_of(model, _project.Space()), []
        for number, (name, arguments, _) in enumerate(plan.projections):
            before = about["passes"], about["bytes"]
            given = _Given(run, seed, classes, model.feature_names, precision == "full")
            projection, space = _project.STAGES[name](held, arguments, given)
            projections.append(projection)
            about["stages"].append((name, about["passes"] - before[0], about["bytes"] - before[1]))
            if plan.classifier is not None or number + 1 < len(plan.projections):
                model = _native.assemble(plan.represented(number + 1), parts, projections, None, [], 0, [], run)
                held = rows_of(model, space)
        weighed, known = None, classes if plan.classifier is not None else []
        if plan.classifier is not None:
            before = about["passes"], about["bytes"]
            weighed = _classifier(held, plan.classifier, len(classes))
            about["stages"].append((plan.classifier[0], about["passes"] - before[0], about["bytes"] - before[1]))
        labelled = held.labelled if known else 0
        model = _native.assemble(plan.whole, parts, projections, weighed, known, labelled, list(sources), run)
    finally:
        for frame in frames:
            frame.unpersist()
    return model, about


def _chosen(dataset, plan, text, id_col, label_col, weight_col):
    """The columns that a fit reads (text, key, label, weight), and the classes."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    for name in (text, id_col, label_col, weight_col):
        if name is not None and name not in kinds:
            raise ValueError(f"there is no column `{name}`; there are {', '.join(kinds)}")
    told = F.col(_quoted(text))
    key = F.sha2(told, 256) if id_col is None else F.col(_quoted(id_col))
    columns, classes = [told.alias("text"), key.alias("key")], []
    if label_col is not None:
        label, kind = as_text(F.col(_quoted(label_col)), kinds[label_col], F, T)
        if not isinstance(kind, T.StringType):
            raise Refused("several labels a document are not fitted on documents that stay on executors; fit on the driver")
        columns.append(label.alias("label"))
        # Documents without a text are left out, and so are classes that only they have.
        labels = dataset.select(told.alias("text"), label.alias("label")).where("text is not null and label is not null")
        classes = sorted(labels.select("label").distinct().toArrow().column(0).to_pylist())
    learner = plan.learns_from_labels
    if learner is not None and not classes:
        raise ValueError(f"`{learner}` needs labels; no document has one")
    if learner not in (None, "varnorm") and len(classes) < 2:
        raise ValueError(f"`{learner}` needs at least two classes to tell apart; there is one")
    if weight_col is not None:
        columns.append(F.col(_quoted(weight_col)).cast("double").alias("weight"))
    return dataset.select(*columns), classes


def _digest(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _classifier(held, stage, classes):
    """Weights and biases of a linear classifier, and how it came by them."""
    name, arguments, _ = stage
    price, tolerance = float(arguments["c"]), float(arguments["tolerance"])
    shape, inner = (held.columns + 1, classes), held.inner
    penalty = np.ones((inner + 1, 1))
    if name == "svm":
        kind, gap, constant = "hinge", _solve.hinge_gap, float(arguments["bias"])
    else:
        kind, gap, constant = "softmax", _solve.softmax_gap, float(arguments["bias"] == "true")
        penalty[-1] = 0.0
    if constant == 0.0:
        penalty[-1] = 1.0
    entry = max(held.largest, constant, constant**2, 1.0)
    total = price * max(held.counts, 1e-300)

    def of_all(w):
        return np.vstack([held.space.weights(w[:-1]), w[-1:]])

    def back(sums):
        return np.vstack([held.space.back(sums[:-1]), sums[-1:]])

    def reach(weights):
        # No score is beyond this, by the length of the weights and of the longest row.
        lengths = np.sqrt((weights[:-1] ** 2).sum(axis=0)) * held.longest + np.abs(weights[-1]) * max(constant, 1.0)
        return 1.0 + float(lengths.max())

    def ask(what, weights, direction=None):
        weights = of_all(weights)
        far = reach(weights)
        payload = {"weights": weights, "price": price, "constant": constant}
        if what == "loss":
            bounds = [4 * total * classes * far**2, 4 * total * far * entry**2, 4 * total * entry**2]
            shapes = [(2,) if kind == "hinge" else (1,), shape, shape]
            losses, gradient, diagonal = held.ask(f"{kind}_loss", shapes, bounds, **payload)
            # Only a preconditioner: columns that count negatively are passed over in it.
            return losses, back(gradient), np.delete(diagonal, slice(inner, -1), axis=0)
        direction = of_all(direction)
        bound = 4 * total * reach(direction) * entry**2
        return back(held.ask(f"{kind}_curve", [shape], [bound], **payload, direction=direction)[0])

    w, passes, _, reached = _solve.newton(ask, (inner + 1, classes), penalty, gap, tolerance / 2, int(arguments["max_iter"]))
    bias = w[-1] * (constant if name == "svm" else 1.0) if constant else np.zeros(classes)
    weights = _project.single(held.space.weights(held.space.inside(w[:-1])))
    return name, _arguments(arguments), weights, bias.astype(np.float32), passes, float(reached)


def _arguments(arguments):
    """The classifier's own arguments: those of its frame are the recipe's."""
    return json.dumps({name: value for name, value in arguments.items() if name not in ("calibrate", "self_training", "names")})
