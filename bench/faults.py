"""Kills `train`, `update`, `index` and exports at random moments, and fills the disk under them: what is there afterwards is old or new, never a part.

    python3 bench/faults.py target/release/corpuscle [ROUNDS] [--seed N] [--only train,update,index,embed,predict]

A round of each: a command that would replace a file, or add to an index, is started and killed (SIGKILL) at a moment drawn evenly from its usual time
and a little more. The file must then be the one before or the one that a whole run writes, byte by byte; the index must open, pass its checksums and
have either none or all of what was added, and everything that was there before. Files that a killed process left beside are counted, and the next whole
run must succeed in spite of them. After the rounds, the same commands run under a limit on the size of files, at sizes drawn up to that of a whole output:
each must fail with an exit code of 1 and a message, leave what was there as it was, and leave nothing beside it. Only the standard library.
`bench/kill.py` does the same for the store of labels.
"""

import argparse
import json
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time

CLASSES = ["red", "green", "blue"]
DOCUMENTS = 400


def rows(path, mark, count=DOCUMENTS):
    text = "".join(
        json.dumps({"id": f"{mark}{n}", "text": f"{mark} {CLASSES[n % 3]} thing w{n % 97} v{n % 31}", "label": CLASSES[n % 3]}) + "\n" for n in range(count)
    )
    path.write_text(text, encoding="utf-8")
    return str(path)


class File:
    """A command that replaces a file, in one of two ways."""

    def __init__(self, binary, folder, name, out, commands):
        self.binary, self.name, self.out, self.commands = binary, name, folder / out, commands
        self.wholes, self.seconds = [], 0.0
        for command in commands:
            began = time.monotonic()
            subprocess.run([binary, *command, "-o", str(self.out), "-q"], check=True, stdout=subprocess.DEVNULL)
            self.seconds = max(self.seconds, time.monotonic() - began)
            self.wholes.append(self.out.read_bytes())
        assert self.wholes[0] != self.wholes[1], "two runs that cannot be told apart"
        self.replaced = 0

    def round(self):
        before = self.out.read_bytes()
        which = random.randrange(2)
        kill([self.binary, *self.commands[which], "-o", str(self.out), "-q"], self.seconds)
        after = self.out.read_bytes()
        assert after in (before, self.wholes[which]), f"{self.name}: the file is torn"
        self.replaced += after != before

    def fill(self, folder):
        before = self.out.read_bytes()
        here = sorted(folder.iterdir())
        which = 1 - self.wholes.index(before)
        limited([self.binary, *self.commands[which], "-o", str(self.out), "-q"], random.randrange(len(self.wholes[which])))
        assert self.out.read_bytes() == before, f"{self.name}: the file was changed"
        assert sorted(folder.iterdir()) == here, f"{self.name}: something was left"

    def figures(self):
        return f"replaced {self.replaced} times"


class Index:
    """A command that adds documents to an index."""

    name = "index"

    def __init__(self, binary, folder):
        self.binary, self.folder, self.out = binary, folder, folder / "index"
        self.data, self.there, self.number = folder / "add.jsonl", [], 0
        rows(self.data, "mark0x")
        began = time.monotonic()
        subprocess.run([binary, "index", str(self.data), "-o", str(self.out), "-q"], check=True, stdout=subprocess.DEVNULL)
        self.seconds = time.monotonic() - began
        self.there.append("mark0x")
        self.added = 0

    def command(self):
        self.number += 1
        mark = f"mark{self.number}x"
        rows(self.data, mark)
        return mark, [self.binary, "index", str(self.data), "-o", str(self.out), "--add", "-q"]

    def found(self, mark):
        asked = [self.binary, "search", str(self.out), mark, "--top", str(2 * DOCUMENTS), "--json", "-q"]
        answer = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
        return len(answer["hits"]), answer["documents"]

    def check(self, mark):
        count, documents = self.found(mark)
        assert count in (0, DOCUMENTS), f"index: {count} of {DOCUMENTS} documents of a batch are there"
        if count:
            self.there.append(mark)
        assert documents == DOCUMENTS * len(self.there), f"index: {documents} documents, not {DOCUMENTS * len(self.there)}"
        for old in random.sample(self.there, min(3, len(self.there))):
            assert self.found(old)[0] == DOCUMENTS, f"index: documents of {old} are lost"
        return count > 0

    def round(self):
        if len(self.there) > 40:
            shutil.rmtree(self.out)
            self.__init__(self.binary, self.folder)
        mark, command = self.command()
        kill(command, self.seconds)
        self.added += self.check(mark)

    def fill(self, folder):
        mark, command = self.command()
        done = limited(command, random.randrange(20_000), may_succeed=True)
        assert self.check(mark) == done, "index: what the command said is not so"

    def figures(self):
        return f"added {self.added} times"


def kill(command, seconds):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.0, 1.2 * seconds))
    process.send_signal(signal.SIGKILL)
    process.wait()


def limited(command, size, may_succeed=False):
    def before():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(command, capture_output=True, preexec_fn=before, timeout=120)
    assert done.returncode == 1 or (may_succeed and done.returncode == 0), f"{command}: {done.returncode} at {size} bytes: {done.stderr}"
    if done.returncode == 1:
        assert done.stderr.startswith(b"corpuscle: "), done.stderr
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("rounds", nargs="?", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="train,update,index,embed,predict")
    options = parser.parse_args()
    random.seed(options.seed)
    binary = options.binary
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        a, b = rows(home / "a.jsonl", "a"), rows(home / "b.jsonl", "b")
        model, old = str(home / "whole.model"), str(home / "old.model")
        for out, more in [(model, []), (old, ["--updatable"])]:
            subprocess.run([binary, "train", a, "--recipe", "tfidf | svm", "-o", out, "-q", *more], check=True, stdout=subprocess.DEVNULL)
        ways = {
            "train": lambda folder: File(binary, folder, "train", "a.model", [["train", data, "--recipe", "tfidf | svm"] for data in (a, b)]),
            "update": lambda folder: File(binary, folder, "update", "a.model", [["update", old, data] for data in (a, b)]),
            "embed": lambda folder: File(binary, folder, "embed", "a.parquet", [["embed", model, data] for data in (a, b)]),
            "predict": lambda folder: File(binary, folder, "predict", "a.jsonl", [["predict", model, data, "--proba"] for data in (a, b)]),
            "index": lambda folder: Index(binary, folder),
        }
        for name in options.only.split(","):
            folder = home / name
            folder.mkdir()
            one = ways[name](folder)
            known = len(list(folder.iterdir()))
            for _ in range(options.rounds):
                one.round()
            left = len(list(folder.iterdir())) - known
            for path in folder.glob("*.corpuscle.tmp"):
                path.unlink()
            for _ in range(min(options.rounds, 30)):
                one.fill(folder)
            print(f"{name}: {options.rounds} kills within {1.2 * one.seconds:.2f} s, {one.figures()}, never torn; {left} files left beside; "
                  f"{min(options.rounds, 30)} times without room, nothing changed", flush=True)


if __name__ == "__main__":
    main()
