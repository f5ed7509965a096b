"""The example consumer against a live server: every revision once, deletions followed, killed and started again."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from articles import changes, content_store
from articles.models import Article, Attachment, ConsumerCursor, ConsumerState
from govcrawler.access import keys
from tests.articles import feed

pytestmark = pytest.mark.django_db(transaction=True)
PROGRAM = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "rag_consumer.py"
PDF = b"%PDF-1.4 invented"


def run(live_server: Any, folder: Path, *, key: str | None = None) -> subprocess.CompletedProcess[str]:
    key = key or keys.create(f"rag {keys.ApiKey.objects.count()}", ["read", "export"])[1]
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), "--once"],
        env={**os.environ, "GOVCRAWLER_URL": live_server.url, "GOVCRAWLER_KEY": key},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def attach(article: Article, data: bytes, *, stored: bool = True, **fields: Any) -> Attachment:
    digest = hashlib.sha256(data).hexdigest()
    key = content_store.attachment_key(digest, "pdf")
    if stored:
        content_store.open_store().put(key, data)
    values = {"file_name": "附件：../通知.pdf", "file_ext": "pdf", "file_path": key, "file_hash": digest, "status": "done"}
    return Attachment.objects.create(article=article, url_hash=digest, **{**values, **fields})


def kept(folder: Path) -> dict[int, int]:
    """Article id -> the one revision that is kept."""
    homes = [home for home in folder.iterdir() if home.is_dir()]
    found = {int(home.name): [int(revision.name) for revision in home.iterdir()] for home in homes}
    assert all(len(revisions) == 1 for revisions in found.values())
    return {article: revisions[0] for article, revisions in found.items()}


def test_it_keeps_text_metadata_and_files_and_acknowledges(live_server: Any, tmp_path: Path) -> None:
    article = feed.ready("第一条　正文", doc_no="清府〔2026〕7号")
    file = attach(article, PDF)
    attach(article, b"never fetched", stored=False, status="failed")
    done = run(live_server, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stored 1, dropped 0\n", "")
    home = tmp_path / str(article.pk) / str(article.current_revision_id)
    assert (home / "text.txt").read_text() == "第一条　正文"
    assert json.loads((home / "article.json").read_text())["doc_no"] == "清府〔2026〕7号"
    assert [(path.name, path.read_bytes()) for path in (home / "files").iterdir()] == [(f"{file.pk}.pdf", PDF)]
    article.refresh_from_db()
    assert (article.rag_export_status, article.exported_to_rag_at is not None) == ("done", True)
    assert run(live_server, tmp_path).stdout == "stored 0, dropped 0\n"


def test_it_follows_changes_deletions_and_withdrawals(live_server: Any, tmp_path: Path) -> None:
    stays, changed, gone, held = (feed.ready() for _ in range(4))
    run(live_server, tmp_path)
    newer = feed.revise(changed, "v2")
    changes.delete(gone, reason="wrong", actor="steward")
    changes.withdraw(held, "raw", "file is missing")
    assert run(live_server, tmp_path).stdout == "stored 1, dropped 2\n"
    assert kept(tmp_path) == {stays.pk: stays.current_revision_id, changed.pk: newer}
    assert (tmp_path / str(changed.pk) / str(newer) / "text.txt").read_text() == "v2"


def test_after_a_crash_between_writing_and_acknowledging_it_only_acknowledges(live_server: Any, tmp_path: Path) -> None:
    article = feed.ready()
    run(live_server, tmp_path)
    written = tmp_path / str(article.pk) / str(article.current_revision_id)
    before = written.stat().st_mtime_ns
    ConsumerState.objects.all().delete()
    Article.objects.update(exported_to_rag_at=None)
    ConsumerCursor.objects.update(position=(article.change_seq or 0) - 1)
    (tmp_path / ".new-1-1").mkdir()
    assert run(live_server, tmp_path).returncode == 0
    assert written.stat().st_mtime_ns == before
    assert not list(tmp_path.glob(".new-*"))
    assert ConsumerState.objects.get().state == "done"


def test_a_file_that_is_missing_on_the_server_fails_its_revision_only(live_server: Any, tmp_path: Path) -> None:
    broken, whole = feed.ready(), feed.ready()
    attach(broken, b"lost", stored=False)
    done = run(live_server, tmp_path)
    assert done.stdout == "stored 1, dropped 0\n" and "410" in done.stderr
    assert kept(tmp_path) == {whole.pk: whole.current_revision_id}
    state = ConsumerState.objects.get(article=broken)
    assert (state.state, state.attempts) == ("failed", 1) and "410" in (state.error or "")


def test_a_wrong_key_or_a_missing_setting_ends_it_with_a_message(live_server: Any, tmp_path: Path) -> None:
    refused = run(live_server, tmp_path, key="gc_0_0")
    assert refused.returncode != 0 and "key_unknown" in refused.stderr
    unset = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], env={}, capture_output=True, text=True, check=False)
    assert unset.returncode == 2 and "GOVCRAWLER_URL and GOVCRAWLER_KEY" in unset.stderr
