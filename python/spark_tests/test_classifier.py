"""Fitting and scoring on a cluster."""

import hashlib
import os

import numpy as np
import pytest

import corpuscle
from conftest import CONNECT
from corpuscle.spark import TextClassifier, TextClassifierModel, TextVectorizer, TextVectorizerModel

RECIPE = "words(stem=english) | tfidf | svm"


def estimator(**more):
    return TextClassifier(**({"recipe": RECIPE, "idCol": "id", "sources": ["data.jsonl"]} | more))


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_the_model_has_the_bytes_of_the_command_whatever_the_partitions(frame, rows, trained, partitions):
    model = estimator().fit(frame(partitions, seed=partitions))
    assert model.modelBytes == trained(rows, RECIPE)


@pytest.mark.parametrize("recipe", ["binary | ig(300) | lsi(20) | logistic", "tfidf | varnorm(10) | discriminant | knn"])
def test_other_recipes_too(frame, rows, trained, recipe):
    assert estimator(recipe=recipe).fit(frame(3)).modelBytes == trained(rows, recipe)


def test_without_ids_the_order_is_that_of_the_texts_digests(frame, rows, trained):
    found = {estimator(idCol=None).fit(frame(partitions, seed)).modelBytes for partitions, seed in [(1, 1), (7, 2)]}
    in_order = sorted(rows, key=lambda row: hashlib.sha256(row[1].encode()).digest())
    assert found == {trained(in_order, RECIPE)}


def test_empty_and_skewed_partitions_change_nothing(spark, frame, rows, trained):
    from pyspark.sql import functions as F

    # All but ten documents in one partition, some partitions without any.
    skewed = frame(1).repartition(6, F.when(F.col("id") < 10, F.col("id") % 2).otherwise(7))
    assert estimator().fit(skewed).modelBytes == trained(rows, RECIPE)
    assert estimator().fit(frame(1).limit(0).union(frame(2))).modelBytes == trained(rows, RECIPE)


def kill_once(flag, middle=1):
    """A step that ends its own executor the first time it comes to the middle of its documents: to so many batches."""

    def step(batches):
        import os
        import signal

        for number, batch in enumerate(batches):
            if number == middle:
                try:
                    os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    # The worker's forebear that is a Java machine is the executor.
                    process = os.getpid()
                    while True:
                        with open(f"/proc/{process}/stat") as stat:
                            name, rest = stat.read().rsplit(")", 1)
                        if name.endswith("(java"):
                            break
                        process = int(rest.split()[1])
                    os.kill(process, signal.SIGKILL)
            yield batch

    return step


def test_an_executor_killed_on_the_way_changes_nothing(frame, rows, trained, tmp_path):
    flag = str(tmp_path / "killed")
    documents = frame(4)
    documents = documents.mapInArrow(kill_once(flag), documents.schema)
    assert estimator().fit(documents).modelBytes == trained(rows, RECIPE)
    assert os.path.exists(flag)


def test_an_executor_killed_while_scoring_loses_and_doubles_nothing(frame, rows, tmp_path):
    model = estimator().fit(frame(2))
    documents = frame(4)
    flag = str(tmp_path / "killed")
    found = model.transform(documents.mapInArrow(kill_once(flag), documents.schema)).select("id", "prediction").collect()
    assert os.path.exists(flag)
    expected = model.toLocal().predict([text for _, text, _ in rows]).tolist()
    assert sorted(tuple(row) for row in found) == list(zip(range(len(rows)), expected, strict=True))


def test_answers_are_those_of_the_local_model_in_the_order_of_the_rows(spark, frame, demo):
    model = estimator().fit(frame(2))
    texts = [*demo[2], "", None]
    documents = spark.createDataFrame(list(enumerate(texts)), "n int, text string").coalesce(1)
    found = model.setExplanationCol("why").setExplanationTerms(3).transform(documents).toArrow()
    assert found.column("n").to_pylist() == list(range(len(texts)))
    local, known = model.toLocal(), texts[:-1]
    assert found.column("prediction").to_pylist() == [*local.predict(known).tolist(), None]
    chances = np.array(found.column("probability").to_pylist()[:-1], dtype=np.float32)
    assert np.array_equal(chances, local.predict_proba(known).astype(np.float32))
    assert model.classes == local.classes_.tolist()
    why = [[(term["term"], term["amount"]) for term in terms] for terms in found.column("why").to_pylist()[:-1]]
    assert why[:5] == [said.terms for said in local.explain(known[:5], top=3)]
    assert found.column("why").to_pylist()[-1] is None


def test_columns_can_be_left_out_and_the_model_read_by_path(frame, tmp_path):
    model = estimator(probabilityCol="", predictionCol="said").fit(frame(2))
    path = tmp_path / "shared.model"
    model.saveFile(path)
    assert path.read_bytes() == model.modelBytes
    model.setModelPath(str(path))
    documents = model.transform(frame(2))
    assert documents.columns == ["id", "text", "label", "said"]
    assert documents.filter("said = label").count() > 200


def test_numbers_as_labels_are_answered_as_numbers(spark, rows):
    known = sorted({label for _, _, label in rows if label})
    some = [(number, text, None if label is None else 9.0 + known.index(label)) for number, text, label in rows]
    documents = spark.createDataFrame(some, "id long, text string, label double")
    model = TextClassifier(recipe="tfidf | svm").fit(documents)
    assert model.classes == [9.0 + number for number in range(len(known))]
    found = model.transform(documents).select("prediction", "probability", "label").toArrow()
    assert str(found.schema.field("prediction").type) == "double"
    best = [model.classes[int(np.argmax(row))] for row in found.column("probability").to_pylist()]
    same = np.mean([a == b for a, b in zip(best, found.column("prediction").to_pylist(), strict=True)])
    assert same > 0.95
    whole = documents.selectExpr("id", "text", "cast(label as int) as label")
    assert TextClassifier(recipe="tfidf | svm").fit(whole).transform(whole).schema["prediction"].dataType.simpleString() == "int"


def test_several_labels(spark):
    some = [("paper jam", ["hardware", "paper"]), ("password", ["login"]), ("jam again", ["hardware"]), ("log in", ["login"])] * 6
    documents = spark.createDataFrame(some, "text string, label array<string>")
    model = TextClassifier(recipe="tfidf | svm").fit(documents)
    found = model.transform(documents).select("prediction").toArrow().column(0).to_pylist()
    assert ["hardware", "paper"] in [sorted(row) for row in found] and ["login"] in found


def test_weights_count(spark, rows):
    some = [(number, text, label, 0.25 if number % 3 else 2.0) for number, text, label in rows]
    documents = spark.createDataFrame(some, "id long, text string, label string, w double")
    model = estimator(weightCol="w", sources=[]).fit(documents.repartition(3))
    texts, labels, weights = [row[1] for row in some], [row[2] for row in some], [row[3] for row in some]
    local = corpuscle.TextClassifier(RECIPE).fit(texts, labels, sample_weight=weights)
    assert model.modelBytes == local._model.to_bytes()


def test_a_corrupt_row_is_named_or_left_out(spark, frame, rows):
    extra = spark.sql("select 100000L as id, cast(X'FFFE61' as string) as text, 'x' as label")
    with pytest.raises(Exception, match="not UTF-8"):
        estimator().fit(frame(2).union(extra))
    model = estimator(handleInvalid="keep").fit(frame(2).union(extra))
    assert model.modelBytes == estimator().fit(frame(2)).modelBytes
    with pytest.raises(Exception, match="not UTF-8"):
        model.copy().setHandleInvalid("error").transform(extra).select("prediction").collect()
    assert [row.prediction for row in model.transform(extra).select("prediction").collect()] == [None]


def test_calls_that_cannot_work_say_why(spark, frame):
    documents = frame(1)
    with pytest.raises(ValueError, match="there is no column `body`"):
        estimator(inputCol="body").fit(documents)
    with pytest.raises(ValueError, match="representation only; end it with a classifier"):
        estimator(recipe="tfidf").fit(documents)
    with pytest.raises(ValueError, match="no stage"):
        estimator(recipe="tfdif | svm").fit(documents)
    with pytest.raises(ValueError, match="there are no documents"):
        estimator().fit(documents.limit(0))
    with pytest.raises(ValueError, match="have no `id`"):
        estimator().fit(spark.createDataFrame([(None, "a", "x"), (1, "b", "y")], "id long, text string, label string"))
    model = estimator().fit(documents)
    with pytest.raises(ValueError, match="a column `label` already"):
        model.copy().setPredictionCol("label").transform(documents)
    with pytest.raises(ValueError, match="must be 'error' or 'keep'"):
        model.copy().setHandleInvalid("drop").transform(documents)


def test_a_folder_has_the_model_file_and_gives_the_model_back(spark, frame, tmp_path):
    path = str(tmp_path / "tickets")
    model = estimator(explanationCol="why").fit(frame(2))
    model.save(path)
    with open(os.path.join(path, "corpuscle.model"), "rb") as file:
        assert file.read() == model.modelBytes
    model.write().overwrite().save(path)
    again = TextClassifierModel.load(path)
    assert (again.uid, again.modelBytes, again.labelType) == (model.uid, model.modelBytes, model.labelType)
    assert again.extractParamMap() == model.extractParamMap()
    assert again.transform(frame(1)).count() == frame(1).count()
    chosen = estimator(predictionCol="said")
    chosen.write().overwrite().save(path + "-estimator")
    assert TextClassifier.load(path + "-estimator").extractParamMap() == chosen.extractParamMap()


def test_pipelines_fit_save_and_load(frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import StringIndexer

    documents = frame(2).na.drop()
    stages = [
        StringIndexer(inputCol="label", outputCol="number"),
        TextVectorizer(recipe="tfidf(min_df=3) | lsi(10)", idCol="id", outputCol="features"),
        LogisticRegression(labelCol="number", maxIter=5, predictionCol="theirs", probabilityCol="p", rawPredictionCol="r"),
        TextClassifier(recipe="tfidf | svm", labelCol="number", idCol="id"),
    ]
    model = Pipeline(stages=stages).fit(documents)
    found = model.transform(documents)
    assert found.filter("prediction = number").count() > 0.9 * documents.count()
    assert found.filter("theirs = number").count() > 0.5 * documents.count()
    path = str(tmp_path / "pipeline")
    model.write().overwrite().save(path)
    again = PipelineModel.load(path)
    assert isinstance(again.stages[3], TextClassifierModel) and isinstance(again.stages[1], TextVectorizerModel)
    assert again.stages[3].modelBytes == model.stages[3].modelBytes


def test_cross_validation_chooses_a_recipe(frame):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StringIndexer
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    documents = frame(2).na.drop()
    documents = StringIndexer(inputCol="label", outputCol="number").fit(documents).transform(documents)
    chosen = TextClassifier(labelCol="number", idCol="id", probabilityCol="")
    grid = ParamGridBuilder().addGrid(chosen.recipe, ["tfidf | svm(calibrate=0)", "tfidf(max_features=2) | svm(calibrate=0)"]).build()
    judge = MulticlassClassificationEvaluator(labelCol="number", metricName="accuracy")
    found = CrossValidator(estimator=chosen, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1).fit(documents)
    assert found.avgMetrics[0] > 0.6 > found.avgMetrics[1]
    assert "max_features=2" not in found.bestModel.fittedRecipe


def test_vectors_are_those_of_the_local_representation(spark, frame, demo):
    for recipe in ["tfidf(min_df=2)", "tfidf | lsi(8)"]:
        model = TextVectorizer(recipe=recipe, idCol="id").fit(frame(3))
        documents = spark.createDataFrame([(text,) for text in [*demo[2][:20], "", None]], "text string").coalesce(1)
        found = [row.features for row in model.transform(documents).collect()]
        local = corpuscle.TextVectorizer.load(_saved(model))
        expected = local.transform(list(demo[2][:20]) + [""])
        expected = expected.toarray() if hasattr(expected, "toarray") else expected
        assert np.array_equal(np.array([row.toArray() for row in found[:-1]], dtype=np.float32), expected)
        assert found[-1] is None


def _saved(model):
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "m.model")
    model.saveFile(path)
    return path


def test_nothing_asks_for_the_context(spark):
    """No RDD and no broadcast: over Connect there is no context to ask."""
    import pathlib

    import corpuscle.spark

    for path in pathlib.Path(corpuscle.spark.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ".rdd" not in text and "sparkContext" not in text and ".broadcast" not in text
    assert CONNECT == (type(spark).__module__ == "pyspark.sql.connect.session")
