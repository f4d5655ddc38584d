"""Finding documents: an index in a folder, or texts that are searched at once."""

import html
import json
import os
import pathlib
import tempfile

from corpuscle import _native
from corpuscle._input import as_texts, listed
from corpuscle._result import Result
from corpuscle._run import running


class Hits(Result):
    """Documents found, best first; of several queries one after the other.

    ``rows`` has a row for each; ``hits`` is the same with whole texts, what each term adds, and the places of these terms in the snippet.
    """

    def _repr_html_(self):
        table = super()._repr_html_()
        for row, hit in zip(self.rows, self.hits, strict=True):
            table = table.replace(f"<td>{html.escape(row['snippet'])}</td>", f"<td>{_marked(hit)}</td>", 1)
        return table


def _marked(hit):
    text, parts, end = hit["snippet"], [], 0
    for start, stop in hit["marks"]:
        parts += [html.escape(text[end:start]), "<mark>", html.escape(text[start:stop]), "</mark>"]
        end = stop
    return "".join([*parts, html.escape(text[end:])])


class SearchIndex:
    """An index of documents in a folder, the same that ``corpuscle index`` makes.

    Parameters
    ----------
    folder : where the index is; it is made there when the folder is empty or not there.
    words : str, default="words"
        How texts and queries become words, as recipes say it: "words(stem=english, stop=english)". An index that is there keeps its own.

    Examples
    --------
    >>> import tempfile
    >>> from corpuscle import SearchIndex
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex(folder.name, words="words(stem=english)")
    >>> index.add(["the printer jams", "cannot log in"], ids=["a", "b"])
    2
    >>> index.search("jammed printers").rows[0]["id"]
    'a'
    """

    def __init__(self, folder, *, words="words", n_jobs=None, verbose=False):
        self.folder = pathlib.Path(folder)
        self.n_jobs = n_jobs
        self.verbose = verbose
        there = self.folder.is_dir() and any(self.folder.iterdir())
        path = os.fspath(self.folder)
        self._index = _native.Index.open(path) if there else _native.Index.create(path, words)

    def _run(self):
        return running(None, self.n_jobs, self.verbose)

    def __len__(self):
        return len(self._index)

    def add(self, texts, ids):
        """Adds documents, all of them or none; one of the same id is replaced. Gives how many there are now."""
        with self._run() as run:
            self._index.add(as_texts(texts), [str(name) for name in listed(ids)], run)
        return len(self)

    def delete(self, ids):
        """Takes the documents of these ids out. Gives how many there are now."""
        with self._run() as run:
            self._index.delete([str(name) for name in listed(ids)], run)
        return len(self)

    def search(
        self,
        query,
        top=10,
        *,
        model=None,
        share=0.5,
        mix="scores",
        rank="bm25",
        k1=None,
        b=None,
        mu=None,
        smoothing=None,
        linear=False,
        feedback=None,
    ):
        """The best documents for a query, or for each of several, as :func:`search` finds them."""
        queries = [query] if isinstance(query, str) else list(query)
        constants = {"k1": k1, "b": b, "mu": mu, "smoothing": smoothing}
        constants = [(name, float(value)) for name, value in constants.items() if value is not None]
        known = None if model is None else model._fitted()
        with self._run() as run:
            found = json.loads(self._index.search(queries, run, top, known, rank, constants, linear, feedback, mix, share))
        hits = [
            {"query": asked, "rank": place, **hit}
            for asked, own in zip(queries, found, strict=True)
            for place, hit in enumerate(own, 1)
        ]
        several = not isinstance(query, str)
        rows = [_row(hit, several, known is not None) for hit in hits]

        def picture():
            name = (lambda row: f"{row['query']}: {row['id']}") if several else (lambda row: str(row["id"]))
            return _native.bars("Documents found", "score", [(name(row), row["score"], row["terms"]) for row in rows])

        return Hits(rows, "Documents found", picture, hits=hits)


def _row(hit, several, has_vectors):
    row = {"query": hit["query"]} if several else {}
    row |= {"rank": hit["rank"], "id": hit["id"], "score": hit["score"]}
    if has_vectors:
        row |= {"words": hit["words"], "cosine": hit["cosine"]}
    return row | {"terms": ", ".join(f"{part['term']} {part['adds']:.2f}" for part in hit["terms"]), "snippet": hit["snippet"]}


def search(documents, query, top=10, *, ids=None, words="words", n_jobs=None, verbose=False, **how):
    """The best documents for a query, or for each of several, and why.

    Parameters
    ----------
    documents : texts of any make, or the folder of an index (a ``Path``, or a :class:`SearchIndex`).
    query : a text, or several.
    top : int, default=10
        How many documents.
    ids : names of the texts; without them ``id`` is the row.
    words : str, default="words"
        How texts and queries become words, as recipes say it.
    rank : {"bm25", "dirichlet", "jelinek-mercer"}, default="bm25"
        The ranking, with its constants: `k1` and `b`, `mu`, `smoothing`.
    linear : bool, default=False
        Whether probabilities of terms are added up instead of their logarithms.
    feedback : {None, "mixture", "rm3"}, default=None
        How the best documents widen the query.
    model : a fitted TextVectorizer or TextClassifier, whose vectors count beside words: the `share` of them, 0.5 unless said otherwise, in
        a `mix` of "scores" or of "probabilities".

    Examples
    --------
    >>> from corpuscle import load_demo, search
    >>> texts, *_ = load_demo()
    >>> found = search(texts, "change my password", top=3, words="words(stem=english, stop=english)")
    >>> "password" in texts[found.rows[0]["id"]]
    True
    """
    if isinstance(documents, os.PathLike):
        documents = SearchIndex(documents, n_jobs=n_jobs, verbose=verbose)
    if isinstance(documents, SearchIndex):
        return documents.search(query, top, **how)
    texts = as_texts(documents)
    with tempfile.TemporaryDirectory() as folder:
        index = SearchIndex(folder, words=words, n_jobs=n_jobs, verbose=verbose)
        index.add(texts, range(len(texts)) if ids is None else ids)
        found = index.search(query, top, **how)
    if ids is None:
        for row in [*found.rows, *found.hits]:
            row["id"] = int(row["id"])
    return found
