"""The interpreter during a call: free, interruptible, safe to fork; the command; what importing costs."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import corpuscle
from corpuscle import TextClassifier

LONG = "scdv(dim=200, clusters=60, epochs=200, min_count=1) | svm"


def python(code, **more):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=240, **more)


def test_another_thread_runs_during_a_fit(demo):
    texts, labels, *_ = demo
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    started = time.perf_counter()
    TextClassifier("tfidf-svm").fit(texts * 40, labels * 40)
    ended = time.perf_counter()
    done.set()
    thread.join()
    during = [tick for tick in ticks if started < tick < ended]
    longest = max(b - a for a, b in zip(during, during[1:], strict=False))
    assert len(during) > 20 and longest < (ended - started) / 2


def test_two_fits_in_two_threads_at_once(demo):
    texts, labels, new, _ = demo
    expected = TextClassifier("tfidf-svm").fit(texts, labels)._model.to_bytes()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(TextClassifier("tfidf-svm").fit(texts, labels)._model.to_bytes()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def interrupted(call, tmp_path):
    """Ctrl-C in the middle of a call: seconds until it is raised, and what is left of `model`.

    The call is made again and again: a quick machine may end it before the signal comes.
    """
    code = f"""
        import signal, sys, time, corpuscle
        # A shell's background job is born with the signal ignored, and so are its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        texts, labels, *_ = corpuscle.load_demo()
        corpuscle.TextClassifier("tfidf-svm").fit(texts, labels)
        print("ready", flush=True)
        try:
            while True:
                model = corpuscle.TextClassifier({LONG!r})
                {call}
        except KeyboardInterrupt:
            print("stopped", time.time(), hasattr(model, "classes_"), flush=True)
            sys.exit(3)
    """
    own = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=own)
    assert child.stdout.readline().strip() == "ready"
    time.sleep(1.5)
    asked = time.time()
    child.send_signal(signal.SIGINT)
    said = child.stdout.readline().split()
    assert child.wait(timeout=60) == 3
    assert said[0] == "stopped" and said[2] == "False"
    return float(said[1]) - asked


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize(
    "call",
    [
        "model.fit(texts * 20, labels * 20)",
        "corpuscle.topics(texts * 40, 80, stable=True)",
        "corpuscle.search(texts * 2000, 'my invoice')",
        "corpuscle.search(texts, texts * 2000, feedback='rm3')",
    ],
    ids=["fit", "topics", "indexing", "queries"],
)
def test_ctrl_c_stops_within_a_second(call, tmp_path):
    # The least of three: what else the machine does is not the call's.
    assert any(interrupted(call, tmp_path) < 1.0 for _ in range(3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_after_a_fit_does_not_hang():
    done = python(
        """
        import os, signal, corpuscle
        texts, labels, new, _ = corpuscle.load_demo()
        model = corpuscle.TextClassifier("tfidf | lsi(20) | knn").fit(texts, labels)
        expected = model.predict(new).tolist()
        one = model.predict(new[:1]).tolist()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            again = corpuscle.TextClassifier("tfidf | lsi(20) | knn").fit(texts, labels)
            same = again.predict(new).tolist() == expected and model.predict(new).tolist() == expected
            os._exit(0 if same and model.predict(new[:1]).tolist() == one and again.predict(new[:1]).tolist() == one else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout.strip() == "0", done


def test_importing_is_harmless():
    done = python(
        """
        import sys
        import corpuscle
        assert "sklearn" not in sys.modules and "numpy" not in sys.modules
        version = corpuscle.__version__
        for name in [name for name in sys.modules if name.startswith("corpuscle")]:
            del sys.modules[name]
        import corpuscle as again
        assert again is not corpuscle and again.__version__ == version
        assert again.TextClassifier("tfidf | svm(calibrate=0)").fit(["a b", "c d"] * 4, [0, 1] * 4).predict(["a"])[0] == 0
        """
    )
    assert done.returncode == 0, done.stderr


def test_importing_is_quick():
    def seconds():
        return float(python("import time; started = time.perf_counter(); import corpuscle; print(time.perf_counter() - started)").stdout)

    # The least of five: the first reads files the machine has not read before.
    assert any(seconds() < 0.15 for _ in range(5))


def test_every_name_is_there():
    for name in corpuscle.__all__:
        assert getattr(corpuscle, name).__doc__, name
    assert set(corpuscle.__all__) <= set(dir(corpuscle))
    with pytest.raises(AttributeError):
        corpuscle.nothing


def test_the_command_is_the_same_command(tmp_path):
    call = [sys.executable, "-m", "corpuscle"]
    done = subprocess.run([*call, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and corpuscle.__version__ in done.stdout
    wrong = subprocess.run([*call, "trian"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "train" in wrong.stderr
    failed = subprocess.run([*call, "inspect", str(tmp_path / "no.model")], capture_output=True, text=True)
    assert failed.returncode == 1 and "no.model" in failed.stderr
    piped = subprocess.run(f"{sys.executable} -m corpuscle stages | head -1", shell=True, capture_output=True, text=True)
    assert piped.stderr == "" and piped.stdout
    script = os.path.join(os.path.dirname(sys.executable), "corpuscle")
    assert subprocess.run([script, "--version"], capture_output=True, text=True).stdout == done.stdout


def test_progress_is_shown_when_asked_for(demo, capsys):
    texts, labels, *_ = demo
    TextClassifier("scdv(dim=50, clusters=10, epochs=20, min_count=1) | svm", verbose=True).fit(texts * 10, labels * 10)
    shown = capsys.readouterr().err
    assert "scdv" in shown and "\r" not in shown  # not a terminal: a line for each stage


def test_warnings_of_the_core_are_warnings_of_python():
    with pytest.warns(UserWarning, match="too few labelled documents to calibrate"):
        TextClassifier("tfidf | svm").fit(["red apple", "blue sky", "green tree"], ["a", "b", "a"])


def test_a_subinterpreter_is_harmless():
    done = python(
        """
        import corpuscle
        corpuscle.__version__
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        other = interpreters.create()
        try:
            said = interpreters.run_string(other, "import corpuscle; corpuscle.__version__")
        except Exception as error:
            said = error
        assert said is None or "subinterpreters" in str(said) or "ImportError" in str(said), said
        interpreters.destroy(other)
        print(corpuscle.TextClassifier("tfidf | svm(calibrate=0)").fit(["a b", "c d"] * 4, [0, 1] * 4).predict(["a"])[0])
        """
    )
    assert done.stdout.strip() == "0", done
