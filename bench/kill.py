"""Kills `corpuscle label` and `corpuscle train` at random moments: every acknowledged label is there exactly once, a model file is old or new.

    python3 bench/kill.py target/release/corpuscle [ROUNDS] [--seed N]

Each round starts the server on the same store, labels from three threads at once, kills it (SIGKILL) after a random time, and reads the
store: what was acknowledged must be there as the document's label, each acknowledged event must be there once, and SQLite's integrity check
must pass. Then it trains one of two models over a file that has the other, kills that too, and the file must be one of the two, byte by byte.
Only the standard library.
"""

import argparse
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

DOCUMENTS = 2000
CLASSES = ["red", "green", "blue"]


def labeller(base, token, acknowledged, turn, stop):
    number = turn
    while not stop.is_set():
        identity, label = str(number % DOCUMENTS), random.choice(CLASSES)
        body = json.dumps({"id": identity, "label": label, "author": f"p{turn}"}).encode()
        request = urllib.request.Request(base + "/v1/labels", body, {"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                answer = json.load(response)
        except OSError:
            return
        acknowledged.append((answer["event"], identity, label, f"p{turn}"))
        # Threads never label the same document, so that the last label of each is known.
        number += 3


def check(store, acknowledged):
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    rows = connection.execute(
        "SELECT number, id, json_extract(value, '$.labels[0]'), author FROM events JOIN documents USING (row) WHERE kind = 'label'"
    ).fetchall()
    connection.close()
    found = {row[0]: row[1:] for row in rows}
    assert len(found) == len(rows), "an event is there twice"
    for event, identity, label, author in acknowledged:
        assert found.get(event) == (identity, label, author), f"event {event} was acknowledged and is {found.get(event)}"
    return len(rows)


def train(binary, folder, name, model):
    data = str(folder / f"{name}.jsonl")
    return subprocess.Popen([binary, "train", data, "--recipe", "tfidf-svm", "-o", str(model), "-q"], stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("rounds", nargs="?", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pile, store = folder / "pile.jsonl", folder / "labels.db"
        rows = (json.dumps({"id": str(n), "text": f"{random.choice(CLASSES)} thing number {n}"}) for n in range(DOCUMENTS))
        pile.write_text("\n".join(rows), encoding="utf-8")
        wholes, model, seconds = {}, folder / "a.model", 0.0
        for name in "ab":
            rows = (json.dumps({"text": f"{name} {c} thing {n}", "label": c}) for n in range(300) for c in CLASSES)
            (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
            began = time.monotonic()
            assert train(options.binary, folder, name, model).wait() == 0
            seconds = time.monotonic() - began
            wholes[name] = model.read_bytes()
        acknowledged, written, replaced = [], 0, 0
        for turn in range(1, options.rounds + 1):
            command = [options.binary, "label", str(pile), "-o", str(store), "-q"]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            address = urllib.parse.urlsplit(server.stdout.readline().strip())
            base, token = f"http://{address.netloc}", urllib.parse.parse_qs(address.query)["token"][0]
            stop = threading.Event()
            threads = [threading.Thread(target=labeller, args=(base, token, acknowledged, n, stop)) for n in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.0, 0.4))
            server.send_signal(signal.SIGKILL)
            server.wait()
            stop.set()
            for thread in threads:
                thread.join()
            server.stdout.close()
            written = check(store, acknowledged)
            before = model.read_bytes()
            training = train(options.binary, folder, random.choice("ab"), model)
            time.sleep(random.uniform(0.0, 1.1 * seconds))
            training.send_signal(signal.SIGKILL)
            training.wait()
            assert model.read_bytes() in wholes.values(), "the model file is torn"
            replaced += model.read_bytes() != before
            if turn % 50 == 0 or turn == options.rounds:
                print(f"{turn} rounds: {len(acknowledged)} acknowledged, {written} written, none lost, store sound; model replaced {replaced} times, never torn", flush=True)


if __name__ == "__main__":
    main()
