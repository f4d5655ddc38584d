"""How many words of new documents a model does not know, beside what `corpuscle drift` expects: the table of docs/RESULTS.md.

    python3 bench/unknown_words.py NAME.jsonl[.gz]...

Words are runs of two letters or digits and more, in lower case; each corpus has a field `split`. Known are the words of `least` training documents
and more. Counted: training words that would be unknown had their document been held out. Estimated: by Zipf's law from the number of
known words and of all. Then the share in the test part, and in the test parts of the other corpora. Only the standard library.
"""

import collections
import gzip
import json
import pathlib
import re
import sys


def read(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    parts = collections.defaultdict(list)
    with opened as lines:
        for row in map(json.loads, lines):
            parts[row["split"]].append(re.findall(r"\w\w+", row["text"].lower()))
    return parts["train"], parts["test"]


def main():
    corpora = {pathlib.Path(path).name.split(".")[0]: read(path) for path in sys.argv[1:]}
    for name, (train, test) in corpora.items():
        documents = collections.Counter(word for text in train for word in set(text))
        words = sum(map(len, train))
        for least in (1, 2):
            known = {word for word, count in documents.items() if count >= least}
            share = lambda texts: sum(word not in known for text in texts for word in text) / max(1, sum(map(len, texts)))
            counted = sum(documents[word] <= least for text in train for word in text) / words
            estimated = least * sum(1 / r for r in range(2, least + 2)) * len(known) / words
            others = ", ".join(f"{other} {share(texts[1]):.3f}" for other, texts in corpora.items() if other != name)
            print(f"{name}, least {least}: counted {counted:.3f}, estimated {estimated:.3f}, test {share(test):.3f}; {others}", flush=True)


if __name__ == "__main__":
    main()
