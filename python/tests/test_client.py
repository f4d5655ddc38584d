"""The client against servers of the package's own command."""

import json
import subprocess
import sys

import pytest

from corpuscle import Client, ClientError, TextClassifier


@pytest.fixture
def start(tmp_path):
    """Starts the command in a folder of its own and gives the line it prints first."""
    running = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "corpuscle", *arguments, "-q"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        return process.stdout.readline().strip()

    yield start
    for process in running:
        process.terminate()
        assert process.wait(timeout=30) == 0
        process.stdout.close()


def test_a_model_is_asked_over_http(start, demo, tmp_path):
    texts, labels, new, _ = demo
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    model.save(tmp_path / "demo.model")
    client = Client(start("serve", "demo.model"))
    assert client.is_ready() and client.models()[0]["name"] == "demo"
    expected = list(model.predict(new))
    assert [said["label"] for said in client.predict(new)] == expected
    assert [said["label"] for said in client.predict_stream(new, batch=50)] == expected
    assert client.explain(new[:1], top=3)[0]["label"] == expected[0]
    assert client.embed(new[:1])[0]["indices"]
    recent = client.drift()[0]
    assert (recent["name"], recent["drifted"], recent["documents"]) == ("demo", False, 2 * len(new))
    with pytest.raises(ClientError, match="404") as refused:
        client.predict(new, model="nobody")
    assert "there is no model" in refused.value.reason
    with pytest.raises(ClientError, match="401"):
        Client(client.address, "wrong").models()


def test_documents_are_labelled_over_http(start, demo, tmp_path):
    texts, labels, _, _ = demo
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "pile.jsonl").write_text("\n".join(rows), encoding="utf-8")
    client = Client(start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada"))
    for _ in range(5):
        document = client.next()
        client.label(document["id"], labels[int(document["id"])])
    assert len(client.labels()) == 5
    client.undo()
    assert len(client.labels()) == 4 and client.state()["labelled"] == 4
    with pytest.raises(ClientError, match="404"):
        client.label("nobody", "a")
