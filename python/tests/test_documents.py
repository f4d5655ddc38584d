"""What is written about the package: every example runs, stubs and signatures agree."""

import doctest
import importlib.util
import pathlib
import pkgutil
import re

import pytest

import corpuscle

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = [module.name for module in pkgutil.iter_modules(corpuscle.__path__) if module.name not in ("_native", "__main__")]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_of_docstrings(name):
    if name == "spark":
        pytest.importorskip("pyspark")
    module = importlib.import_module(f"corpuscle.{name}".rstrip("."))
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_code_of_the_guide_runs(page, tmp_path, monkeypatch):
    """The blocks of a page are one session, in order; what a comment after a line says is its value."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    names = {"__name__": "guide"}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # noqa: S102
        for line in block.splitlines():
            shown = re.match(r"(?P<code>[^#=]+[^#=\s(])\s+# -> (?P<value>.+)$", line)
            if shown:
                assert repr(eval(shown["code"], names)) == shown["value"], line  # noqa: S307


def test_stubs_are_those_of_the_code():
    spec = importlib.util.spec_from_file_location("make_stubs", ROOT / "python" / "make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "python" / "corpuscle" / "__init__.pyi").read_text(encoding="utf-8")
    assert module.stubs() == written, "run python/make_stubs.py"
    compile(written, "__init__.pyi", "exec")
    assert (pathlib.Path(corpuscle.__file__).parent / "py.typed").exists()
