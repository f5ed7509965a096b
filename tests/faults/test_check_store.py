"""``check_store`` is silent on a sound store and names each kind of damage (fault-model, method 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from articles.content_store import ContentStore, attachment_key, open_store
from articles.models import Article, ArticleContent, ArticleRevision, Attachment, ChangeCounter
from crawl.models import CrawlHost, CrawlRun
from govcrawler.clock import now_plus
from tests import rows

pytestmark = pytest.mark.django_db(transaction=True)
HASH = "a" * 64


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[ContentStore]:
    """A sound store: an article with its revision and a file, and a job that runs on its leased host."""
    with override_settings(CONTENT_DIR=str(tmp_path)):
        store = open_store()
        key = attachment_key(hashlib.sha256(b"file").hexdigest(), "pdf")
        store.put(key, b"file")
        store.put_gzip(f"raw/s/{hashlib.sha256(b'page').hexdigest()}.gz", b"page")
        article = rows.article(content_hash=HASH, change_seq=1)
        ArticleContent.objects.update_or_create(article=article, defaults={"content_text": "text"})
        revision = ArticleRevision.objects.create(article=article, number=1, content_hash=HASH, content_text="text")
        Article.objects.update(current_revision_id=revision.pk)
        ChangeCounter.objects.update_or_create(pk=1, defaults={"value": 1})
        file = {"file_path": key, "file_hash": hashlib.sha256(b"file").hexdigest(), "size_bytes": 4, "status": "done"}
        Attachment.objects.create(article=article, url_hash=HASH, **file)
        job = rows.job(status="running", active_key="t", lease_token="token", heartbeat_at=now_plus(0))
        CrawlHost.objects.create(host="www.example", lease_token="token", lease_job_id=job.pk)
        CrawlRun.objects.create(job_id=job.pk, status="started", scope="full")
        yield store


def overwrite(store: ContentStore, folder: str, data: bytes) -> None:
    store.path(next(iter(store.keys(folder)))).write_bytes(data)


def test_a_sound_store_has_no_faults(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_store")
    assert capsys.readouterr().out == "no faults\n"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda store: store.clear("attachments"), "has no file"),
        (lambda store: overwrite(store, "attachments", b"elif"), "is not what its name says"),
        (lambda store: overwrite(store, "raw", b"\x1f\x8b"), "is not what its name says"),
        (lambda _: Attachment.objects.update(size_bytes=5), "hash or size"),
        (lambda _: Article.objects.update(text_path="text/aa/none.txt"), "has no text"),
        (lambda _: ArticleRevision.objects.update(raw_manifest={"responses": [{"key": "raw/none.gz"}]}), "has no raw page"),
        (lambda _: ArticleContent.objects.update(content_text="other"), "is not its current revision"),
        (lambda _: Article.objects.update(current_revision_id=None), "has no current revision"),
        (lambda _: Article.objects.update(change_seq=None), "ready without a change number"),
        (lambda _: ChangeCounter.objects.update(value=0), "above the counter"),
        (lambda _: rows.job(status="done", active_key="x"), "still holds its target"),
        (lambda _: rows.job(status="done", lease_token="x"), "still holds its target or a lease"),
        (lambda _: rows.job(status="running", lease_token="x", heartbeat_at=now_plus(-9000)), "without a heartbeat"),
        (lambda _: rows.job(status="running", heartbeat_at=now_plus(0)), "without a lease"),
        (lambda _: rows.job(lease_token="x"), "is queued and holds a lease"),
        (lambda _: CrawlHost.objects.update(lease_job_id="gone"), "which does not run"),
        (lambda _: CrawlRun.objects.update(job_id=None), "was never closed"),
        (lambda _: CrawlRun.objects.update(status="succeeded", finished_at=now_plus(0), discovered=1), "do not add up"),
    ],
)
def test_each_damage_is_told_and_ends_with_1(
    damage: Callable[[ContentStore], object], told: str, store: ContentStore, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(store)
    with pytest.raises(CommandError) as caught:
        call_command("check_store")
    assert caught.value.returncode == 1
    assert told in capsys.readouterr().out
