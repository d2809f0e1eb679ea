"""Examples in docstrings and in the README run; every public object has a docstring."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil

import numpy as np
import pytest

import irrs

PACKAGES = {"ir_measures": "ir_measures", "pyterrier": "pyterrier", "mteb": "mteb", "sklearn": "sklearn"}


def objects():
    """Names and docstrings of public objects and their members."""
    for name in irrs.__all__:
        found = getattr(irrs, name)
        if name == "__version__":
            continue
        yield name, found.__doc__
        if inspect.isclass(found) and found.__module__.startswith("irrs"):
            for member, value in vars(found).items():
                if not member.startswith("_") and (callable(value) or hasattr(value, "__get__")):
                    yield f"{name}.{member}", inspect.getdoc(getattr(found, member))


def test_docstrings():
    assert [name for name, text in objects() if not text] == []


def run(text, name):
    test = doctest.DocTestParser().get_doctest(text or "", {"irrs": irrs, "np": np}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    output = []
    runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)
    return runner.tries


@pytest.mark.parametrize("name", [name for name, text in objects() if ">>>" in (text or "")])
def test_examples(name):
    texts = dict(objects())
    assert run(texts[name], name) > 0


@pytest.mark.parametrize("module", [module.name for module in pkgutil.walk_packages(irrs.__path__, "irrs.")])
def test_examples_of_modules(module):
    last = module.rsplit(".", 1)[-1]
    if module.startswith("irrs.integrations.") and last in PACKAGES:
        pytest.importorskip(PACKAGES[last])
    run(importlib.import_module(module).__doc__, module)


def test_examples_of_the_package():
    assert run(irrs.__doc__, "irrs") > 0


def test_readme():
    readme = pathlib.Path(__file__).resolve().parents[1] / "README.md"
    if not readme.is_file():
        pytest.skip("no checkout of the repository")
    blocks = readme.read_text(encoding="utf-8").split("```python\n")[1:]
    code = "\n".join(block.split("```")[0] for block in blocks if "no_run" not in block.split("```")[0])
    exec(compile(code, "README.md", "exec"), {})
