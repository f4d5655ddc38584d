"""What executors do: texts to packed words, texts to answers. Arrow batches in, Arrow batches out; nothing of Spark is needed here."""

import hashlib
from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpuscle import _native

PIECE_BYTES = 8 << 20
"""Text whose words and rows are in memory at once."""
PIECE_ROWS = 1 << 14

_KEPT = 4
_models = OrderedDict()


def model_of(source):
    """The model of ``(digest, bytes or None, path or None)``, read once in this process."""
    digest, data, path = source
    if digest in _models:
        _models.move_to_end(digest)
        return _models[digest]
    if data is None:
        data = read_file(path)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"{path} is not the model that this transformer was given: its bytes are others")
    model = _models[digest] = _native.Model.from_bytes(data)
    while len(_models) > _KEPT:
        _models.popitem(last=False)
    return model


def read_file(path):
    """The bytes of a file by its path or address."""
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
    with system.open_input_stream(inner) as stream:
        return stream.read()


class Texts:
    """A column of texts as the core takes it: a null or a corrupt text is empty here, and `gone` says where."""

    def __init__(self, column, name, keep):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or _is_view(column.type)):
            raise TypeError(f"the column `{name}` must have texts, not {column.type}")
        self.null = np.asarray(column.is_null())
        try:
            column.validate(full=True)
            self.corrupt = np.zeros(len(column), dtype=bool)
        except pa.ArrowInvalid:
            column, self.corrupt = _without_corrupt(column)
        if not keep and self.corrupt.any():
            place = int(np.flatnonzero(self.corrupt)[0])
            raise ValueError(
                f"a text of the column `{name}` is not UTF-8 (row {place} of its batch, {int(self.corrupt.sum())} in the batch); "
                'handleInvalid="keep" leaves such rows without an answer'
            )
        self.gone = self.null | self.corrupt
        self.column = pc.fill_null(column, "") if column.null_count else column

    def native(self):
        return _native.Texts(self.column)


def _is_view(kind):
    return getattr(pa.types, "is_string_view", lambda _: False)(kind)


def _without_corrupt(column):
    """The column with what is not UTF-8 made empty, and where that was."""
    raw = column.cast(pa.large_binary()).to_pylist()
    corrupt = np.zeros(len(raw), dtype=bool)
    for place, text in enumerate(raw):
        try:
            raw[place] = None if text is None else text.decode()
        except UnicodeDecodeError:
            raw[place], corrupt[place] = "", True
    return pa.array(raw, pa.large_string()), corrupt


def pieces(batch, name):
    """Slices of a batch of limited rows and bytes of text; an empty batch is one of its own."""
    column = batch.column(batch.schema.get_field_index(name))
    if batch.num_rows == 0:
        yield batch
        return
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_view(column.type):
        column = column.cast(pa.large_string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        # Nulls alone, or something that is refused when it is read.
        yield batch
        return
    ends = np.cumsum(np.asarray(pc.fill_null(pc.binary_length(column), 0), dtype=np.int64))
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        stop = min(int(np.searchsorted(ends, before + PIECE_BYTES, side="right")), start + PIECE_ROWS)
        stop = max(stop, start + 1)
        yield batch.slice(start, stop - start)
        start = stop


def _nulls(array, gone):
    """The array with nulls where there is no answer."""
    return pc.if_else(pa.array(~gone), array, pa.scalar(None, array.type)) if gone.any() else array


def _lists(starts, values, gone):
    starts = pa.array(np.asarray(starts, dtype=np.int32))
    return pa.ListArray.from_arrays(starts, values, mask=pa.array(gone) if gone.any() else None)


def classes_of(model, kind):
    """The classes as they are answered (of the Arrow type `kind`, or texts), and their order: numbers ascend as numbers."""
    names = model.classes
    if kind is None:
        return pa.array(names, pa.string()), None
    values = [int(name) if kind.startswith("int") else float(name) for name in names]
    return pa.array(values, getattr(pa, kind)()), sorted(range(len(values)), key=values.__getitem__)


def score(batches, source, text, out, keep, top, kind, multi):
    """Batches with labels, probabilities and explanations beside their columns.

    `out` names the columns to add, None for one that is not wanted: prediction, probability, explanation.
    """
    model = model_of(source)
    run = _native.Run(_native.DEFAULT_SEED, 1)
    names, order = classes_of(model, kind)
    for batch in batches:
        for piece in pieces(batch, text):
            yield _scored(piece, model, run, names, order, text, out, keep, top, multi)


def _scored(piece, model, run, names, order, text, out, keep, top, multi):
    prediction, probability, explanation = out
    texts = Texts(piece.column(piece.schema.get_field_index(text)), text, keep)
    columns, fields = list(piece.columns), list(piece.schema)

    def add(name, array):
        columns.append(array)
        fields.append(pa.field(name, array.type))

    native = texts.native()
    if probability is None:
        (starts, codes), chances = model.labels(native, run), None
    else:
        (starts, codes), _, chances = model.predict(native, run)
    if prediction is not None:
        labels = names.take(pa.array(codes))
        add(prediction, _lists(starts, labels, texts.gone) if multi else _nulls(labels, texts.gone))
    if probability is not None:
        n, k = len(texts.gone), len(names)
        if chances is None:
            add(probability, pa.nulls(n, pa.list_(pa.float32())))
        else:
            chances = chances if order is None else chances[:, order]
            add(probability, _lists(np.arange(n + 1) * k, pa.array(np.ascontiguousarray(chances).ravel()), texts.gone))
    if explanation is not None:
        add(explanation, _explained(model, native, run, texts.gone, top))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _explained(model, native, run, gone, top):
    found = [terms[:top] for _, _, _, _, _, terms in model.explain(native, run, None)] if len(gone) else []
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in found])])
    term = pa.array([term for terms in found for term, _ in terms], pa.string())
    amount = pa.array([amount for terms in found for _, amount in terms], pa.float64())
    return _lists(starts, pa.StructArray.from_arrays([term, amount], names=["term", "amount"]), gone)


def represent(batches, source, text, out, keep):
    """Batches with the rows of the representation as Spark's vectors: sparse ones where columns are sparse."""
    from corpuscle._input import matrix_out

    model = model_of(source)
    run = _native.Run(_native.DEFAULT_SEED, 1)
    for batch in batches:
        for piece in pieces(batch, text):
            texts = Texts(piece.column(piece.schema.get_field_index(text)), text, keep)
            rows = matrix_out(model.represent(texts.native(), run))
            fields = [*piece.schema, pa.field(out, VECTOR)]
            yield pa.RecordBatch.from_arrays([*piece.columns, vectors(rows, texts.gone)], schema=pa.schema(fields))


VECTOR = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)
"""How Spark lays out a vector: type 0 is sparse, 1 dense."""


def vectors(rows, gone):
    """The rows of a matrix as Spark's vectors."""
    n, width = rows.shape
    mask = pa.array(gone) if gone.any() else None
    indices, values = (VECTOR.field(name).type for name in ("indices", "values"))
    if hasattr(rows, "indptr"):
        starts = pa.array(rows.indptr.astype(np.int32))
        children = [
            pa.array(np.zeros(n, dtype=np.int8)),
            pa.array(np.full(n, width, dtype=np.int32)),
            pa.ListArray.from_arrays(starts, pa.array(rows.indices.astype(np.int32)), type=indices),
            pa.ListArray.from_arrays(starts, pa.array(rows.data.astype(np.float64)), type=values),
        ]
    else:
        starts = pa.array((np.arange(n + 1) * width).astype(np.int32))
        children = [
            pa.array(np.ones(n, dtype=np.int8)),
            pa.nulls(n, pa.int32()),
            pa.nulls(n, indices),
            pa.ListArray.from_arrays(starts, pa.array(np.ascontiguousarray(rows, dtype=np.float64).ravel()), type=values),
        ]
    return pa.StructArray.from_arrays(children, fields=list(VECTOR), mask=mask)


def digests(texts):
    """The first 16 bytes of the SHA-256 of each text, one after the other: the order of documents that have no id."""
    return b"".join(hashlib.sha256(text.encode()).digest()[:16] for text in texts.column.to_pylist())


def pack(batches, recipe, text, columns, keep):
    """A row for each piece of the documents: their words packed, their number, and the other columns as lists.

    Documents whose text is null or, with `keep`, corrupt are left out.
    """
    run = _native.Run(_native.DEFAULT_SEED, 1)
    for piece in gathered(batches, text):
        texts = Texts(piece.column(piece.schema.get_field_index(text)), text, keep)
        if texts.gone.any():
            piece = piece.filter(pa.array(~texts.gone))
            texts = Texts(piece.column(piece.schema.get_field_index(text)), text, keep)
        if piece.num_rows == 0:
            continue
        words, _ = _native.pack(recipe, texts.native(), run)
        lists = [_list_of(piece.column(piece.schema.get_field_index(name))) for name in columns]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([words], pa.binary()),
                pa.array([digests(texts)], pa.binary()),
                pa.array([piece.num_rows], pa.int64()),
                *lists,
            ],
            names=["packed", "digests", "documents", *columns],
        )


def _list_of(column):
    """All values of a column as one list."""
    return pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)


def gathered(batches, text):
    """Small batches put together, large ones cut: pieces of limited rows and bytes."""
    held, rows, size = [], 0, 0
    for batch in batches:
        for piece in pieces(batch, text):
            if piece.num_rows == 0:
                continue
            length = piece.nbytes
            if held and (rows + piece.num_rows > PIECE_ROWS or size + length > PIECE_BYTES):
                yield _together(held)
                held, rows, size = [], 0, 0
            held.append(piece)
            rows += piece.num_rows
            size += length
    if held:
        yield _together(held)


def _together(batches):
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def count(batches, recipe, text, keep):
    """One row: the counts of all terms of a partition's documents, as the recipe's first stage counts them."""
    run = _native.Run(_native.DEFAULT_SEED, 1)
    parts = []
    for piece in gathered(batches, text):
        texts = Texts(piece.column(piece.schema.get_field_index(text)), text, keep)
        column = texts.column.filter(pa.array(~texts.gone)) if texts.gone.any() else texts.column
        if len(column):
            parts.append(_native.count_terms(recipe, _native.Texts(column), run))
        if len(parts) >= 16:
            parts = [_native.merge_terms(parts, run)]
    if parts:
        yield pa.RecordBatch.from_arrays([pa.array([_native.merge_terms(parts, run)], pa.binary())], names=["counts"])


def block(table, classes, keep):
    """The documents of a block in the order of their keys: texts, classes and counts."""
    table = table.combine_chunks()
    number = table.column("block")[0].as_py()
    texts = Texts(_one(table.column("text")), "text", keep)
    known = {name: place for place, name in enumerate(classes)}
    labels = table.column("label").to_pylist() if "label" in table.column_names else [None] * table.num_rows
    weights = np.asarray(table.column("weight"), dtype=np.float64) if "weight" in table.column_names else np.ones(table.num_rows)
    keys = table.column("key").to_pylist()
    here = np.flatnonzero(~texts.gone).tolist()
    if any(keys[row] is None for row in here):
        raise ValueError("a document has no id; the order of documents is that of their ids")
    # Labelled documents first, each kind in the order of its keys; equal keys by text and label, so that no order is left open.
    told = texts.column.to_pylist()
    here.sort(key=lambda row: (labels[row] is None, keys[row], told[row], labels[row] or "", weights[row]))
    labelled = [row for row in here if labels[row] is not None]
    codes = np.array([known[labels[row]] for row in labelled], dtype=np.int32)
    columns = [
        pa.array([number], pa.int64()),
        _list_of(texts.column.take(pa.array(here, pa.int64())).cast(pa.string())),
        pa.array([codes.tobytes()], pa.binary()),
        pa.array([weights[labelled].tobytes()], pa.binary()),
    ]
    return pa.Table.from_arrays(columns, names=["block", "texts", "codes", "counts"])


def _one(column):
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


ROWS = {
    "terms": np.int32,
    "indptr": np.int64,
    "indices": np.int32,
    "values": np.float32,
    "dense": np.float32,
    "codes": np.int32,
    "counts": np.float64,
}
"""The arrays of a block of rows, as bytes; `indices` are places among `terms`."""
ROWS_SCHEMA = "block long, columns long, negative long, " + ", ".join(f"{name} binary" for name in ROWS)


def rows(batches, source):
    """Blocks of texts as rows of a model's representation; blocks whose documents were all left out are none."""
    model = model_of(source)
    run = _native.Run(_native.DEFAULT_SEED, 1)
    for batch in batches:
        number, texts, codes, counts = (batch.column(batch.schema.get_field_index(name)) for name in ("block", "texts", "codes", "counts"))
        for at in range(batch.num_rows):
            if len(texts[at]):
                yield _rows(number[at].as_py(), texts[at].values, codes[at].as_py(), counts[at].as_py(), model, run)


def _rows(number, texts, codes, counts, model, run):
    some, dense, negative = model.represent(_native.Texts(texts), run)
    n = len(texts)
    if some is None:
        some = (np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0)
    dense = np.zeros((n, 0), np.float32) if dense is None else dense
    indptr, indices, values, columns = some
    terms, places = np.unique(indices, return_inverse=True)
    arrays = (terms, indptr, places, values, dense)
    bytes_of = [np.ascontiguousarray(array, dtype=kind).tobytes() for array, kind in zip(arrays, ROWS.values(), strict=False)]
    numbers = (number, columns + dense.shape[1], negative)
    return pa.RecordBatch.from_arrays(
        [*(pa.array([value], pa.int64()) for value in numbers), *(pa.array([data], pa.binary()) for data in [*bytes_of, codes, counts])],
        names=["block", "columns", "negative", *ROWS],
    )


def _blocks(batches):
    from corpuscle.spark._blocks import Block, rows_of

    for batch in batches:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in batch.schema.names}
        for at in range(batch.num_rows):
            number, width, negative = (columns[name][at].as_py() for name in ("block", "columns", "negative"))
            arrays = {name: np.frombuffer(columns[name][at].as_buffer(), dtype=kind) for name, kind in ROWS.items()}
            found = rows_of(arrays["indptr"], arrays["indices"], arrays["values"], len(arrays["terms"]))
            dense = arrays["dense"].reshape(found.shape[0], -1).astype(np.float64) if len(arrays["dense"]) else None
            yield number, Block(width, arrays["terms"], found, dense, negative, arrays["codes"], arrays["counts"])


def measure(batches, classes):
    """A row for each block: its number, how its columns are made up, and :func:`corpuscle.spark._blocks.sizes`."""
    from corpuscle.spark import _blocks as statistics

    for number, block in _blocks(batches):
        sizes = statistics.sizes(block, classes)
        make = (number, block.columns, 0 if block.dense is None else block.dense.shape[1], block.negative)
        yield pa.RecordBatch.from_arrays(
            [*(pa.array([value], pa.int64()) for value in make), pa.array([sizes.tolist()], pa.list_(pa.float64()))],
            names=["block", "columns", "dense", "negative", "sizes"],
        )


def reduce(batches, name, payload, shapes, steps):
    """One row: the sum of a statistic over a partition's blocks, each part in whole multiples of its step."""
    from corpuscle.spark import _blocks as statistics

    total = None
    for _, block in _blocks(batches):
        found = getattr(statistics, name)(block, **payload)
        total = [None] * len(found) if total is None else total
        total = [statistics.add(*four) for four in zip(total, found, shapes, steps, strict=True)]
    if total is not None:
        yield _parts(total)


def _parts(total):
    return pa.RecordBatch.from_arrays([pa.array([[part.tobytes() for part in total]], pa.list_(pa.binary()))], names=["parts"])


def add_up(table):
    """The sums of several partitions as one: whole numbers, so that groups and order change nothing."""
    total = None
    for parts in table.column("parts"):
        arrays = [np.frombuffer(part.as_buffer(), dtype=np.int64) for part in parts.values]
        total = [array.copy() for array in arrays] if total is None else [a + b for a, b in zip(total, arrays, strict=True)]
    return pa.Table.from_batches([_parts(total)])


def gains(batches, classes):
    """One row: the counts by term and class of a partition's labelled documents."""
    run = _native.Run(_native.DEFAULT_SEED, 1)
    parts = []
    for _, block in _blocks(batches):
        known = block.labelled.rows
        indices = block.terms[known.indices].astype(np.int32)
        given = (known.indptr.astype(np.int64), indices, known.data.astype(np.float32), block.columns)
        parts.append(_native.count_gains(given, np.array(block.codes), classes, run))
        if len(parts) >= 16:
            parts = [_native.merge_gains(parts, run)]
    if parts:
        yield pa.RecordBatch.from_arrays([pa.array([_native.merge_gains(parts, run)], pa.binary())], names=["counts"])


def sample(batches, most):
    """The first rows of each block that comes: their columns and values."""
    for number, block in _blocks(batches):
        rows = block.rows[:most]
        arrays = (rows.indptr.astype(np.int64), block.terms[rows.indices].astype(np.int32), rows.data)
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int64()), *(pa.array([array.tobytes()], pa.binary()) for array in arrays)],
            names=["block", "indptr", "indices", "values"],
        )


def job(name, /, **arguments):
    """A function for ``mapInArrow`` that is small to send: it looks its work up in this module where it runs."""

    def work(batches):
        from corpuscle.spark import _worker

        yield from getattr(_worker, name)(batches, **arguments)

    return work


def group_job(name, /, **arguments):
    """The same for ``applyInArrow``, which hands in a table and takes one."""

    def work(table: pa.Table) -> pa.Table:
        from corpuscle.spark import _worker

        return getattr(_worker, name)(table, **arguments)

    return work
