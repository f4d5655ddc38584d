"""What executors do, without Spark: Arrow batches in, Arrow batches out."""

import numpy as np
import pyarrow as pa
import pytest

import corpuscle
from corpuscle.spark import _worker


@pytest.fixture(scope="module")
def fitted(demo):
    texts, labels, _, _ = demo
    model = corpuscle.TextClassifier("tfidf | svm").fit(texts, labels)
    return model, (model._model.to_bytes())


def scored(fitted, column, out=("prediction", "probability", None), **more):
    source = (f"{id(fitted)}", fitted[1], None)
    batches = [pa.RecordBatch.from_arrays([pa.array(range(len(column))), column], names=["id", "text"])]
    asked = {"keep": False, "top": 5, "kind": None, "multi": False} | more
    return pa.Table.from_batches(list(_worker.score(batches, source, "text", out, **asked)))


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_strings_of_every_kind_get_the_answers_of_the_local_model(fitted, demo, kind):
    texts = list(demo[2][:50])
    column = pa.array(texts)
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(pa, kind)())
    table = scored(fitted, column)
    assert table.column("prediction").to_pylist() == fitted[0].predict(texts).tolist()
    found = np.array(table.column("probability").to_pylist(), dtype=np.float32)
    assert np.array_equal(found, fitted[0].predict_proba(texts).astype(np.float32))


def test_nulls_have_no_answer_and_empty_texts_have_one(fitted):
    for column in (pa.array(["printer", None, "", None]), pa.array(["printer", None, "", None]).dictionary_encode()):
        table = scored(fitted, column, ("prediction", "probability", "why"))
        given = [value is None for value in table.column("prediction").to_pylist()]
        assert given == [False, True, False, True]
        assert [value is None for value in table.column("probability").to_pylist()] == given
        assert [value is None for value in table.column("why").to_pylist()] == given
        assert table.column("id").to_pylist() == [0, 1, 2, 3]


def test_a_column_of_nulls_and_a_batch_without_rows(fitted):
    assert scored(fitted, pa.array([None, None], pa.null())).column("prediction").to_pylist() == [None, None]
    table = scored(fitted, pa.array([], pa.string()), ("prediction", "probability", "why"))
    assert table.num_rows == 0 and table.column_names == ["id", "text", "prediction", "probability", "why"]


def test_batches_are_cut_by_rows_and_bytes(fitted, monkeypatch):
    monkeypatch.setattr(_worker, "PIECE_BYTES", 100)
    monkeypatch.setattr(_worker, "PIECE_ROWS", 7)
    texts = ["x" * 300] + ["printer paper jam"] * 40 + ["y" * 90, "z" * 20]
    batch = pa.RecordBatch.from_arrays([pa.array(texts)], names=["text"])
    cut = list(_worker.pieces(batch, "text"))
    assert [text for piece in cut for text in piece.column(0).to_pylist()] == texts
    assert max(piece.num_rows for piece in cut) <= 7
    assert all(piece.num_rows == 1 or sum(map(len, piece.column(0).to_pylist())) <= 100 for piece in cut)
    assert scored(fitted, pa.array(texts)).column("id").to_pylist() == list(range(len(texts)))
    pieces = list(_worker.gathered([batch.slice(0, 3), batch.slice(3, 0), batch.slice(3)], "text"))
    assert [text for piece in pieces for text in piece.column(0).to_pylist()] == texts


def corrupt():
    raw = pa.array([b"printer", b"\xff\xfe", None, "paper".encode()], pa.binary())
    return pa.Array.from_buffers(pa.string(), 4, raw.buffers())


def test_a_text_that_is_not_utf8_is_refused_or_kept_without_an_answer(fitted):
    with pytest.raises(ValueError, match=r"`text` is not UTF-8 \(row 1 of its batch, 1 in the batch\).*handleInvalid"):
        scored(fitted, corrupt())
    table = scored(fitted, corrupt(), keep=True)
    assert [value is None for value in table.column("prediction").to_pylist()] == [False, True, True, False]


def test_packing_leaves_out_what_is_no_text():
    batch = pa.RecordBatch.from_arrays([corrupt(), pa.array([3, 1, 2, 0])], names=["text", "id"])
    (row,) = _worker.pack([batch], "tfidf", "text", ["id"], True)
    assert row.column("id").to_pylist() == [[3, 0]] and row.column("documents").to_pylist() == [2]
    assert list(_worker.pack([batch.slice(2, 1)], "tfidf", "text", ["id"], True)) == []


def test_other_columns_are_refused(fitted):
    with pytest.raises(TypeError, match="`text` must have texts, not int64"):
        scored(fitted, pa.array([1, 2]))


def test_a_model_is_read_once_and_its_file_is_checked(fitted, tmp_path):
    import hashlib

    path, digest = tmp_path / "m.model", hashlib.sha256(fitted[1]).hexdigest()
    path.write_bytes(fitted[1])
    first = _worker.model_of((digest, None, str(path)))
    assert _worker.model_of((digest, None, str(path))) is first
    assert _worker.model_of((digest, None, "gone")) is first
    with pytest.raises(ValueError, match="not the model"):
        _worker.model_of(("0" * 64, None, str(path)))
