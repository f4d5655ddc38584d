"""Fitting: executors hand in packed words, the driver puts them in order and fits."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpuscle import _native
from corpuscle.spark import _worker


class Gathered:
    """Documents as executors handed them in, in the order of their keys.

    Attributes
    ----------
    parts : packed words, one piece each.
    part_of, row_of : for each place in the order, the piece and the document in it.
    labels, weights : Arrow columns in the order, or None.
    """

    def __init__(self, table, id_col, label_col, weight_col):
        self.parts = table.column("packed").to_pylist()
        counts = np.asarray(table.column("documents"), dtype=np.int64)
        documents = int(counts.sum())
        if documents == 0:
            raise ValueError("there are no documents: the data are empty, or every text is null")
        part_of = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        row_of = (np.arange(documents) - np.repeat(np.cumsum(counts) - counts, counts)).astype(np.uint32)
        digests = b"".join(table.column("digests").to_pylist())
        digests = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), documents, [None, pa.py_buffer(digests)])
        keys = {"digest": digests.cast(pa.binary())}
        if id_col is not None:
            ids = _flat(table, id_col)
            if ids.null_count:
                raise ValueError(f"{ids.null_count} documents have no `{id_col}`; the order of documents is that of their ids")
            keys = {"id": ids, **keys}
        labels = None if label_col is None else _flat(table, label_col)
        weights = None if weight_col is None else _flat(table, weight_col)
        # Two documents of the same id and text differ by their labels and weights, if at all.
        if labels is not None:
            told = labels if not _is_list(labels) else pa.array(["\0".join(row or []) for row in labels.to_pylist()], pa.string())
            keys["label"] = told
        if weights is not None:
            keys["weight"] = weights
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        place = np.asarray(order)
        self.part_of, self.row_of = np.ascontiguousarray(part_of[place]), np.ascontiguousarray(row_of[place])
        self.labels = None if labels is None else labels.take(order)
        self.weights = None if weights is None else np.ascontiguousarray(np.asarray(weights.take(order), dtype=np.float32))

    def __len__(self):
        return len(self.part_of)

    def target(self):
        """Classes and weights as the core takes them."""
        n = len(self)
        if self.labels is None:
            return _native.Target.none(n)
        known = np.asarray(self.labels.is_valid())
        values = self.labels
        lengths = known.astype(np.int64)
        if _is_list(values):
            lengths = np.asarray(pc.fill_null(pc.list_value_length(values), 0), dtype=np.int64)
            values = pc.list_flatten(values)
        coded = values.filter(values.is_valid()).dictionary_encode()
        names = coded.dictionary.to_pylist()
        # Classes are numbered in the order of their names, as everywhere.
        order = sorted(range(len(names)), key=names.__getitem__)
        numbers = np.empty(len(names), dtype=np.uint32)
        numbers[order] = np.arange(len(names), dtype=np.uint32)
        codes = numbers[np.asarray(coded.indices)] if len(names) else np.zeros(0, dtype=np.uint32)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return _native.Target([names[at] for at in order], starts, np.ascontiguousarray(codes), known, self.weights)


def _is_list(array):
    return pa.types.is_list(array.type) or pa.types.is_large_list(array.type)


def _flat(table, name):
    """The values of a column of lists, one after the other."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    flat = pc.list_flatten(column)
    return flat.cast(pa.large_string()) if pa.types.is_string(flat.type) else flat


def gather(dataset, recipe, text, id_col, label_col, weight_col, keep):
    """The documents of a DataFrame, tokenised where they are."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    for name in (text, id_col, label_col, weight_col):
        if name is not None and name not in kinds:
            raise ValueError(f"there is no column `{name}`; there are {', '.join(kinds)}")
    columns = [F.col(_quoted(text)).alias("text")]
    fields = [
        T.StructField("packed", T.BinaryType()),
        T.StructField("digests", T.BinaryType()),
        T.StructField("documents", T.LongType()),
    ]
    named = []
    for role, name in (("id", id_col), ("label", label_col), ("weight", weight_col)):
        if name is None:
            continue
        column, kind = F.col(_quoted(name)), kinds[name]
        if role == "label":
            column, kind = as_text(column, kind, F, T)
        elif role == "weight":
            column, kind = column.cast("float"), T.FloatType()
        columns.append(column.alias(role))
        fields.append(T.StructField(role, T.ArrayType(kind)))
        named.append(role)
    work = _worker.job("pack", recipe=recipe, text="text", columns=named, keep=keep)
    table = dataset.select(*columns).mapInArrow(work, T.StructType(fields)).toArrow()
    return Gathered(table, *(role if role in named else None for role in ("id", "label", "weight")))


def as_text(column, kind, F, T):
    """A column of labels as text, null where there is none; numbers as Python writes them."""
    if isinstance(kind, T.StringType):
        return column, T.StringType()
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StringType):
        return column, T.ArrayType(T.StringType())
    if isinstance(kind, T.IntegralType | T.BooleanType):
        return column.cast("string"), T.StringType()
    if isinstance(kind, T.DoubleType | T.FloatType):
        # A whole number has the text that a list of Python's floats would have.
        column = column.cast("double")
        whole = (column == F.floor(column)) & (F.abs(column) < 1e15)
        text = F.when(whole, F.concat(column.cast("long").cast("string"), F.lit(".0"))).otherwise(column.cast("string"))
        return F.when(F.isnan(column), F.lit(None)).otherwise(text), T.StringType()
    raise TypeError(f"labels are texts, numbers or lists of texts, not {kind.simpleString()}")


def _quoted(name):
    return "`" + name.replace("`", "``") + "`"


def fit(gathered, recipe, seed, updatable, precision, sources):
    """The model of all documents, fitted here: the bytes that one machine would have written."""
    run = _native.Run(seed, 0)
    model, _ = _native.fit_packed(
        recipe,
        gathered.parts,
        gathered.part_of,
        gathered.row_of,
        gathered.target(),
        run,
        updatable,
        precision,
        list(sources),
    )
    return model
