"""What several tests need."""

import gzip
import json
import pathlib

import pytest

import corpuscle

DATA = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def demo():
    return corpuscle.load_demo()


@pytest.fixture(scope="session")
def newsgroups():
    """Texts and labels of 20 Newsgroups, where the machine has it."""
    path = DATA / "20newsgroups.jsonl.gz"
    if not path.exists():
        pytest.skip("20 Newsgroups is not part of this project and not on this machine")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], [row["label"] for row in rows]
