"""Keys are written once and whole, or not at all (fault-model S1, S2, C5)."""

from __future__ import annotations

import errno
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from articles.content_store import ContentStore, attachment_key, digest, raw_key, text_key

ROOT = Path(__file__).resolve().parents[2]
# Disk full as the kernel tells it, without a small disk: no file may grow beyond the limit.
LIMITED = """
import resource, signal, sys
from pathlib import Path
from articles.content_store import ContentStore, StorageFull
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
store = ContentStore(Path(sys.argv[1]))
store.put("text/aa/small.txt", b"x" * 100)
try:
    store.put("text/aa/large.txt", b"x" * 50_000)
except StorageFull as error:
    print("full", error.errno)
"""
# Both processes begin together: each says that it is there and then waits for its standard input to end.
PUT = """
import sys
from pathlib import Path
from articles.content_store import ContentStore
store = ContentStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
for number in range(200):
    store.put(f"text/aa/{number}.txt", str(number).encode() * 5000)
"""


@pytest.fixture
def store(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "content")


def files(store: ContentStore) -> list[str]:
    return sorted(path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file())


def test_a_key_holds_what_was_put_first(store: ContentStore) -> None:
    store.put("text/ab/one.txt", b"first")
    store.put("text/ab/one.txt", b"second")
    assert store.open("text/ab/one.txt").read() == b"first"
    assert (store.exists("text/ab/one.txt"), store.size("text/ab/one.txt")) == (True, 5)
    assert files(store) == ["text/ab/one.txt"]


def test_a_downloaded_file_is_taken_over_and_never_left_behind(store: ContentStore) -> None:
    for _ in range(2):
        source = store.temporary()
        source.write_bytes(b"%PDF")
        store.put_file("attachments/aa/a.pdf", source)
    assert files(store) == ["attachments/aa/a.pdf"]
    assert store.open("attachments/aa/a.pdf").read() == b"%PDF"


def test_the_same_page_compresses_to_the_same_bytes(store: ContentStore, tmp_path: Path) -> None:
    other = ContentStore(tmp_path / "other")
    for one in (store, other):
        one.put_gzip("raw/a.gz", b"<html>" * 1000)
    assert store.open("raw/a.gz").read() == other.open("raw/a.gz").read()
    assert store.read_gzip("raw/a.gz") == b"<html>" * 1000


@pytest.mark.parametrize("key", ["", ".", "../outside.txt", "text/../../outside.txt", "/etc/outside", "..\\..\\x/../../../y"])
def test_a_key_that_leaves_the_folder_or_names_no_file_is_refused(store: ContentStore, key: str) -> None:
    with pytest.raises(ValueError, match="leaves the content folder"):
        store.put(key, b"x")
    with pytest.raises(ValueError, match="leaves the content folder"):
        store.clear(key)
    assert list(store.root.parent.rglob("*.txt")) == []


def test_a_link_inside_the_folder_does_not_lead_out(store: ContentStore, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    store.root.mkdir()
    (store.root / "text").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="leaves"):
        store.put("text/a.txt", b"x")


def test_a_failed_write_leaves_neither_key_nor_temporary_file(store: ContentStore) -> None:
    store.put("text/a", b"a file where a folder is wanted")
    with pytest.raises(FileExistsError):
        store.put("text/a/b.txt", b"x")
    source = store.temporary()
    source.write_bytes(b"x")
    with pytest.raises(FileExistsError):
        store.put_file("text/a/b.txt", source)
    assert files(store) == ["text/a"]


def test_a_full_disk_is_told_as_such_and_leaves_nothing_half_written(store: ContentStore) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(store.root)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["full", str(errno.EFBIG)], "")
    assert files(store) == ["text/aa/small.txt"]


def test_two_processes_that_put_the_same_keys_leave_each_key_whole(store: ContentStore) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", PUT, str(store.root)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    for writer in writers:
        assert writer.wait(60) == 0
        assert writer.stdout is not None
        writer.stdout.close()
    assert len(files(store)) == 200
    assert all(store.open(f"text/aa/{n}.txt").read() == str(n).encode() * 5000 for n in range(200))


def test_clearing_a_folder_takes_its_keys_and_no_other(store: ContentStore) -> None:
    for key in ("spool/job1/a.json", "spool/job1/b.json", "spool/job10/a.json"):
        store.put(key, b"{}")
    store.clear("spool/job1")
    store.clear("spool/job1")
    assert list(store.keys("spool")) == ["spool/job10/a.json"]
    assert not (store.root / "spool/job1").exists()


def test_keys_are_made_of_hashes_never_of_a_sites_names() -> None:
    body = digest(b"body")
    assert raw_key("qingfu", datetime(2024, 3, 5, tzinfo=UTC), "u" * 64, body) == f"raw/qingfu/2024/03/{'u' * 64}/{body}.gz"
    assert text_key(body) == f"text/{body[:2]}/{body}.txt"
    assert attachment_key(body, ".PDF") == f"attachments/{body[:2]}/{body}.pdf"
    for strange in ("", "pdf/../../x", "p df", "附件", "x" * 9, "\x00"):
        assert attachment_key(body, strange) == f"attachments/{body[:2]}/{body}"
