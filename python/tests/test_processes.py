"""Threads, signals, forks; nothing is written where the user did not say."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import irrs


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **options
    )


def test_interrupt_ends_a_build():
    code = """
        import os, signal, threading, irrs
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        def endless():
            n = 0
            while True:
                yield {"id": str(n), "text": "green tea " * 20}
                n += 1
        try:
            irrs.Index.build(endless())
        except KeyboardInterrupt:
            print("interrupted")
    """
    began = time.monotonic()
    done = run(code)
    assert done.stdout == "interrupted\n", done.stderr
    assert time.monotonic() - began < 60


def test_other_threads_run_while_an_index_is_built():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    irrs.Index.build({"id": str(n), "text": f"green tea number {n} " * 30} for n in range(20_000))
    stop.set()
    thread.join()
    assert len(ticks) > 10


def test_threads_share_an_index(index):
    expected = index.search("green tea milk").to_dict()
    found = []
    threads = [threading.Thread(target=lambda: found.append(index.search("green tea milk").to_dict())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_after_threads():
    code = """
        import os, warnings, numpy as np, irrs
        warnings.simplefilter("ignore")
        index = irrs.Index.build([{"id": "tea", "text": "green tea"}])
        vectors = np.random.default_rng(0).normal(size=(5000, 32)).astype(np.float32)
        flat = irrs.FlatIndex(vectors, codes=True)
        queries = vectors[:300]
        before = flat.search(queries, k=3).docs.tolist()
        child = os.fork()
        if child == 0:
            same = flat.search(queries, k=3).docs.tolist() == before
            same = same and index.search(["tea"] * 100).ids == [["tea"]] * 100
            os._exit(0 if same else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(code)
    assert done.stdout == "0\n", done.stderr


def test_nothing_is_written_elsewhere(tmp_path):
    code = """
        import irrs
        index = irrs.Index.build([{"id": "tea", "text": "green tea"}, {"id": "milk", "text": "milk"}])
        irrs.System("lsi", dim=1).open(index).search("tea")
        irrs.evaluate({"q": {"tea": 1}}, index.search({"q": "tea"}), ["RR"])
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path / "home")}
    for name in ("temporary", "home", "work"):
        (tmp_path / name).mkdir()
    done = run(code, cwd=tmp_path / "work", env=environment)
    assert done.returncode == 0, done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == []


def test_number_of_threads(index):
    irrs.set_threads(1)
    try:
        assert index.search(["tea"] * 3, k=1).ids == [["milk"]] * 3
    finally:
        irrs.set_threads(None)
    with pytest.raises(irrs.IrError, match="threads: expected at least 1, found 0"):
        irrs.set_threads(0)


def test_progress(notes):
    calls = []
    irrs.Index.build(notes * 1, progress=lambda stage, done, total: calls.append((stage, done, total)))
    assert all(isinstance(stage, str) for stage, _, _ in calls)


def test_messages_go_to_logging(tmp_path, caplog):
    run_file = tmp_path / "run.txt"
    run_file.write_text("query iteration doc rank score tag\nq Q0 d 1 1.0 mine\n")
    with caplog.at_level("WARNING", logger="irrs"):
        irrs.evaluate({"q": {"d": 1}}, run_file, ["RR"])
    assert "run.txt" in caplog.text


def test_signal_module_is_untouched():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
