"""Sends malformed requests to a server and fails on any answer of 500 or more, or when it stops answering.

    python3 bench/malformed.py ADDRESS [COUNT] [--seed N] [--threads 8]

ADDRESS is the line that `corpuscle serve` or `corpuscle label` prints first. Bodies are valid ones with bytes changed, cut or repeated, values of
other types, and bytes of chance; heads have odd methods, paths, lengths and lines. Only the standard library.
"""

import argparse
import collections
import concurrent.futures
import json
import random
import socket
import urllib.parse

POSTS = {
    "/v1/predict": {"texts": ["my invoice is wrong"], "model": "demo", "top": 3},
    "/v1/explain": {"text": "my invoice is wrong", "top": 3, "near": 2},
    "/v1/embed": {"texts": ["my invoice"]},
    "/v1/search": {"query": "invoice", "top": 3},
    "/v1/labels": {"id": "d001", "label": "billing", "author": "x", "note": "n", "next": True},
    "/v1/skip": {"id": "d001"},
    "/v1/undo": {"author": "x"},
    "/v1/notes": {"id": "d001", "note": "n"},
    "/v1/classes": {"name": "a", "about": "b"},
    "/v1/import": [{"data": {"id": "d001"}, "annotations": [{"result": [{"value": {"choices": ["a"]}}]}]}],
}
GETS = ["/", "/v1/next?author=x", "/v1/labels?offset=1&limit=2", "/v1/documents?show=all&q=a&offset=0", "/v1/export?format=csv", "/v1/events?after=1",
        "/v1/state", "/v1/map", "/metrics", "/v1/document?id=d001", "/v1/models", "/v1/drift"]
ODD = [None, True, -1, 0, 2**63, 2**64, 1e308, 1.5, "", "\u0000", "x" * 5000, [], {}, [[]], [None], {"a": {}}, "\ud83d\ude00", "' OR 1=1 --", "\"*"]


def mutated(random, data):
    data = bytearray(data)
    for _ in range(random.randint(1, 4)):
        kind, at = random.randrange(5), random.randrange(len(data) + 1)
        if kind == 0 and data:
            data[at % len(data)] = random.randrange(256)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 8)))
        elif kind == 3:
            data[at:at] = data[at : at + random.randint(1, 30)]
        else:
            del data[at : at + random.randint(1, 10)]
    return bytes(data)


def body(random, value):
    if random.random() < 0.4 and isinstance(value, dict):
        value = dict(value)
        value[random.choice(list(value))] = random.choice(ODD)
        return json.dumps(value).encode()
    return mutated(random, json.dumps(value).encode())


def request(random, host, token):
    if random.random() < 0.7:
        path = random.choice(list(POSTS))
        method, data = "POST", body(random, POSTS[path])
    else:
        method, path, data = "GET", random.choice(GETS), b""
    if random.random() < 0.2:
        path = urllib.parse.quote(mutated(random, path.encode()), safe="/?&=%")
    if random.random() < 0.05:
        method = random.choice(["PUT", "DELETE", "OPTIONS", "TRACE", "HEAD", "X" * 40, "get"])
    lines = [f"Host: {host}", f"Authorization: Bearer {token}", f"Content-Length: {len(data)}", "Connection: close"]
    if random.random() < 0.3:
        lines.append(random.choice([
            "Content-Type: application/x-ndjson", "Origin: http://evil.example", "Content-Length: 5", "Transfer-Encoding: chunked", "X-A: " + "y" * 9000,
            "Expect: 100-continue", "Content-Type: \x7f", "Upgrade: h2c",
        ]))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"
    whole = head.encode("latin-1", "replace") + data
    return mutated(random, whole) if random.random() < 0.1 else whole


# Seconds to wait for an answer: one that was cut short gets none until the server's own patience ends.
PATIENCE = 0.3


def ask(host, data):
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=60) as stream:
        try:
            stream.sendall(data)
            stream.settimeout(PATIENCE)
            answer = stream.recv(12)[9:12].decode("latin-1")
            return answer or "closed"
        except TimeoutError:
            # The head or body was cut short, and the server waits for the rest.
            return "waits"
        except OSError:
            return "closed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    parts = urllib.parse.urlsplit(options.address)
    token = urllib.parse.parse_qs(parts.query)["token"][0]

    def send(number):
        chance, statuses = random.Random(options.seed * 1000 + number), collections.Counter()
        for _ in range(options.count // options.threads):
            data = request(chance, parts.netloc, token)
            status = ask(parts.netloc, data)
            statuses[status] += 1
            assert not status.startswith("5"), data
        return statuses

    with concurrent.futures.ThreadPoolExecutor(options.threads) as threads:
        statuses = sum(threads.map(send, range(options.threads)), collections.Counter())
    well = ask(parts.netloc, f"GET /readyz HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
    assert well == "200", "it no longer answers"
    print(f"{statuses.total()} requests, none answered 500 or more:", dict(statuses.most_common()))


if __name__ == "__main__":
    main()
