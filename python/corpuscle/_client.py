"""A client of ``corpuscle serve`` and ``corpuscle label``, with what Python itself has."""

import json
import urllib.error
import urllib.parse
import urllib.request


class ClientError(Exception):
    """What a server refused: ``status`` and ``reason``."""

    def __init__(self, status, reason):
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason


class Client:
    """Asks a server that ``corpuscle serve`` or ``corpuscle label`` has started.

    ``address`` is the line it prints first, token and all; or leave the token out there and give it as ``token``.

    >>> client = Client("http://127.0.0.1:7878/?token=secret")    # doctest: +SKIP
    >>> client.predict(["my invoice is wrong"])                   # doctest: +SKIP
    [{'label': 'billing', 'probability': 0.93, ...}]
    """

    def __init__(self, address, token=None, *, timeout=60.0):
        parts = urllib.parse.urlsplit(address.strip())
        given = urllib.parse.parse_qs(parts.query).get("token", [None])[0]
        self.address = f"{parts.scheme}://{parts.netloc}"
        self.token = token or given
        self.timeout = timeout

    def _ask(self, path, body=None, *, query=None, kind="application/json"):
        known = {name: value for name, value in (query or {}).items() if value is not None}
        url = self.address + path + ("?" + urllib.parse.urlencode(known) if known else "")
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers={"Content-Type": kind})
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            with error:
                try:
                    reason = json.loads(error.read())["error"]["reason"]
                except (ValueError, KeyError, TypeError):
                    reason = error.reason
            raise ClientError(error.code, reason) from None

    def _json(self, path, body=None, **others):
        return json.loads(self._ask(path, body, **others))

    # Any server

    def predict(self, texts, *, model=None, top=None):
        """A dict for each text, in order: ``label``, ``probability`` and more."""
        body = {"texts": list(texts)} | ({"model": model} if model else {}) | ({"top": top} if top is not None else {})
        return self._json("/v1/predict", body)["predictions"]

    def predict_stream(self, texts, *, model=None, top=None, batch=256):
        """Predictions of any number of texts, one after the other, in little memory."""
        lines = []
        for text in texts:
            lines.append(json.dumps(text))
            if len(lines) == batch:
                yield from self._lines(lines, model, top)
                lines = []
        if lines:
            yield from self._lines(lines, model, top)

    def _lines(self, lines, model, top):
        # Batch by batch: who sends everything before reading anything waits for a server that waits to be read.
        body = "\n".join(lines).encode()
        answer = self._ask("/v1/predict", body, query={"model": model, "top": top}, kind="application/x-ndjson")
        return [json.loads(line) for line in answer.splitlines()]

    def is_ready(self):
        """Whether the server answers."""
        try:
            self._ask("/readyz")
        except (ClientError, OSError):
            return False
        return True

    # corpuscle serve

    def models(self):
        """The models and their versions."""
        return self._json("/v1/models")["models"]

    def drift(self):
        """For each model, whether the texts it was asked about of late are like those it was trained on."""
        return self._json("/v1/drift")["models"]

    def explain(self, texts, *, model=None, top=None, near=None):
        """The words and documents behind each label."""
        options = {"model": model, "top": top, "near": near}
        body = {"texts": list(texts)} | {name: value for name, value in options.items() if value is not None}
        return self._json("/v1/explain", body)["explanations"]

    def embed(self, texts, *, model=None):
        """A list of numbers for each text, or ``indices`` and ``values`` where most columns are zero."""
        return self._json("/v1/embed", {"texts": list(texts)} | ({"model": model} if model else {}))["vectors"]

    def search(self, query, *, top=None):
        """Documents of the server's index, best first."""
        return self._json("/v1/search", {"query": query} | ({"top": top} if top is not None else {}))["hits"]

    # corpuscle label

    def next(self, *, author=None):
        """The next document to label, with what the model says of it; its ``id`` is None when there is none."""
        return self._json("/v1/next", query={"author": author})

    def label(self, id, label, *, author=None, note=None):
        """Labels a document with a label or a list of them; returns once it is on the server's disk."""
        body = {"id": id} | ({"label": label} if isinstance(label, str) else {"labels": list(label)})
        body |= ({"author": author} if author else {}) | ({"note": note} if note is not None else {})
        return self._json("/v1/labels", body)

    def skip(self, id, *, author=None):
        """Leaves a document for later."""
        return self._json("/v1/skip", {"id": id} | ({"author": author} if author else {}))

    def undo(self, *, author=None):
        """Takes back the author's last act."""
        return self._json("/v1/undo", {"author": author} if author else {})

    def labels(self):
        """The label of every document that has one."""
        return self._json("/v1/labels")["labels"]

    def state(self):
        """Counts, accuracy, the curve, agreement."""
        return self._json("/v1/state")
