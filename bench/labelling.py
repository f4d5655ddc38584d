"""Labels a pile on `corpuscle label` with known answers, over HTTP as the page does.

    python3 bench/labelling.py suggest BINARY 20newsgroups.jsonl.gz [--labels 100] [--draws 5] [--recipe R]
    python3 bench/labelling.py large BINARY 20newsgroups.jsonl.gz [--documents 200000] [--labels 200]

`suggest` labels what the page gives next, waiting for the model to learn between two answers as a person would let it; trains on
the store, and on as many labels drawn at random, several times; and tests both on the rows whose `split` is `test`. `large` cuts messages
into so many documents, labels some of them, and tells how long the next document takes from the moment a label is sent. Only the standard library.
"""

import argparse
import gzip
import http.client
import json
import pathlib
import random
import subprocess
import tempfile
import time
import urllib.parse


class Page:
    """A server and one kept connection to it."""

    def __init__(self, binary, *arguments):
        self.server = subprocess.Popen([binary, "label", *arguments, "-q"], stdout=subprocess.PIPE, text=True)
        address = urllib.parse.urlsplit(self.server.stdout.readline().strip())
        self.token = urllib.parse.parse_qs(address.query)["token"][0]
        self.connection = http.client.HTTPConnection(address.netloc, timeout=60)

    def ask(self, path, body=None):
        method = "GET" if body is None else "POST"
        self.connection.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {self.token}"})
        response = self.connection.getresponse()
        answer = json.load(response)
        assert response.status == 200, answer
        return answer

    def until(self, wanted, seconds):
        end = time.monotonic() + seconds
        while not wanted(self.ask("/v1/state")):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def memory(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text().splitlines()
        return max(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))

    def end(self):
        self.server.terminate()
        assert self.server.wait(timeout=60) == 0
        self.server.stdout.close()


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def call(binary, *arguments):
    return json.loads(subprocess.run([binary, *arguments, "--json", "-q"], check=True, capture_output=True, text=True).stdout)


def suggest(options, folder):
    rows = read(options.data)
    train = [row | {"id": str(at)} for at, row in enumerate(rows) if row["split"] == "train"]
    truth = {row["id"]: row["label"] for row in train}
    write(folder / "pile.jsonl", [{"id": row["id"], "text": row["text"]} for row in train])
    write(folder / "test.jsonl", [row for row in rows if row["split"] == "test"])
    page = Page(options.binary, str(folder / "pile.jsonl"), "-o", str(folder / "labels.db"))
    assert page.until(lambda state: state["learning"] == "waiting for labels", 300)
    time.sleep(2)
    document, reasons = page.ask("/v1/next"), {}
    for number in range(1, options.labels + 1):
        reasons[document["why"]] = reasons.get(document["why"], 0) + 1
        document = page.ask("/v1/labels", {"id": document["id"], "label": truth[document["id"]], "next": number % 2 == 0})
        page.until(lambda state: state["accuracy"] and state["accuracy"]["labels"] >= number, 3)
        document = document.get("next") or page.ask("/v1/next")
    accuracy = page.ask("/v1/state")["accuracy"]
    page.end()
    print(f"{options.labels} labels by suggestion: {reasons}; the page says {accuracy}", flush=True)

    def tested(*data):
        for recipe in options.recipe:
            call(options.binary, "train", *data, "--recipe", recipe, "-o", str(folder / "a.model"))
            yield 100 * call(options.binary, "evaluate", str(folder / "a.model"), str(folder / "test.jsonl"))["accuracy"]

    suggested = list(tested(str(folder / "labels.db")))
    drawn = []
    for draw in range(options.draws):
        chosen = {row["id"] for row in random.Random(draw).sample(train, options.labels)}
        write(folder / "drawn.jsonl", [row for row in train if row["id"] in chosen])
        write(folder / "rest.jsonl", [{"id": row["id"], "text": row["text"]} for row in train if row["id"] not in chosen])
        drawn.append(list(tested(str(folder / "drawn.jsonl"), "--unlabelled", str(folder / "rest.jsonl"))))
    for at, recipe in enumerate(options.recipe):
        others = [accuracies[at] for accuracies in drawn]
        print(f"{recipe}: suggested {suggested[at]:.1f} %, drawn {sum(others) / len(others):.1f} % ({', '.join(f'{one:.1f}' for one in others)})")


def large(options, folder):
    words = [(word, row["label"]) for row in read(options.data) for word in row["text"].split()]
    size = len(words) // options.documents
    pieces = [words[at : at + size] for at in range(0, size * options.documents, size)]
    random.Random(1).shuffle(pieces)
    truth = {str(at): piece[0][1] for at, piece in enumerate(pieces)}
    write(folder / "pile.jsonl", [{"id": str(at), "text": " ".join(word for word, _ in piece)} for at, piece in enumerate(pieces)])
    began = time.monotonic()
    page = Page(options.binary, str(folder / "pile.jsonl"), "-o", str(folder / "labels.db"))
    print(f"{len(pieces)} documents of {size} words: answering after {time.monotonic() - began:.1f} s", flush=True)
    began = time.monotonic()
    assert page.until(lambda state: state["learning"] == "waiting for labels", 600)
    print(f"looked through after {time.monotonic() - began:.1f} s more", flush=True)
    document, times = page.ask("/v1/next"), []
    for _ in range(options.labels):
        start = time.monotonic()
        document = page.ask("/v1/labels", {"id": document["id"], "label": truth[document["id"]], "next": True})["next"]
        times.append(1000 * (time.monotonic() - start))
        time.sleep(options.pause)
    lists = {}
    for path in ["/v1/state", "/v1/documents?show=doubt", "/v1/documents?q=space", "/v1/documents?offset=150000", "/v1/map"]:
        start = time.monotonic()
        page.ask(path)
        lists[path] = f"{1000 * (time.monotonic() - start):.0f} ms"
    times.sort()
    print(f"{len(times)} labels: next document after {times[len(times) // 2]:.1f} ms (median), {times[int(0.99 * len(times))]:.1f} (99th percentile), "
          f"{times[-1]:.1f} (longest); {page.memory()} MB at the peak; {lists}")
    page.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["suggest", "large"])
    parser.add_argument("binary")
    parser.add_argument("data")
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between two labels")
    parser.add_argument("--recipe", action="append")
    options = parser.parse_args()
    options.recipe = options.recipe or ["tfidf-svm", "dcot"]
    with tempfile.TemporaryDirectory() as folder:
        {"suggest": suggest, "large": large}[options.what](options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
