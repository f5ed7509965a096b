"""What the database and the content store themselves say is wrong, whatever site was crawled (fault-model N1, N2, N6, N8)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, F, Max, Model, Q, UniqueConstraint

from articles.content_store import ContentStore, open_store
from articles.models import Article, ArticleListing, ArticleRevision, Attachment, ChangeCounter, Tombstone
from crawl.models import CrawlFailure, CrawlHost, CrawlJob, CrawlRun
from crawl.runs import KINDS
from govcrawler.clock import now_plus

UNIQUE: tuple[type[Model], ...] = (Article, ArticleListing, ArticleRevision, Attachment, CrawlFailure, CrawlJob)
ENDED = ~Q(status__in=["queued", "running"])


def breaches() -> Iterator[str]:
    """Each fault, one line. Reads every file; while workers run, a row in change may be told: what is told twice is wrong."""
    yield from _duplicates()
    yield from _jobs()
    yield from _hosts()
    yield from _runs()
    yield from _articles()
    yield from _files(open_store())


def _duplicates() -> Iterator[str]:
    """N2, also where a constraint was lost (a restored dump, a table altered by hand)."""
    for model in UNIQUE:
        for constraint in model._meta.constraints:
            if not isinstance(constraint, UniqueConstraint):
                continue
            given = {f"{name}__isnull": False for name in constraint.fields}
            rows = model._base_manager.filter(**given).order_by().values(*constraint.fields)
            for row in rows.annotate(rows_alike=Count("pk")).filter(rows_alike__gt=1):
                yield f"N2 {model._meta.db_table}: {row.pop('rows_alike')} rows with {row}"


def _jobs() -> Iterator[str]:
    for job in CrawlJob.objects.filter(ENDED).exclude(active_key=None, lease_token=None):
        yield f"N1 job {job.pk} is {job.status} and still holds its target or a lease"
    late = Q(lease_token=None) | Q(heartbeat_at=None) | Q(heartbeat_at__lt=now_plus(-2 * settings.CRAWL["lease_seconds"]))
    for job in CrawlJob.objects.filter(late, status="running"):
        yield f"N6 job {job.pk} is running without a lease, or without a heartbeat for two leases"
    for job in CrawlJob.objects.filter(status="queued").exclude(lease_token=None):
        yield f"N6 job {job.pk} is queued and holds a lease"


def _hosts() -> Iterator[str]:
    running = CrawlJob.objects.filter(status="running").values("job_id")
    for host in CrawlHost.objects.exclude(lease_job_id=None).exclude(lease_job_id__in=running):
        yield f"N6 host {host.pk} is leased to job {host.lease_job_id}, which does not run"


def _runs() -> Iterator[str]:
    active = CrawlJob.objects.filter(~ENDED).values("job_id")
    for run in CrawlRun.objects.filter(Q(job_id=None) | ~Q(job_id__in=active), finished_at=None):
        yield f"N1 run {run.pk} was never closed"
    total = sum((F(kind) for kind in KINDS[1:]), F(KINDS[0]))
    for run in CrawlRun.objects.filter(finished_at__isnull=False, status="succeeded").exclude(discovered=total):
        yield f"N1 run {run.pk} succeeded, and the rows it saw and what became of them do not add up"


def _articles() -> Iterator[str]:
    for article in Article.objects.select_related("content").iterator(chunk_size=500):
        current = ArticleRevision.objects.filter(pk=article.current_revision_id or 0, article=article).first()
        if article.status == Article.Status.READY and article.change_seq is None:
            yield f"N1 article {article.pk} is ready without a change number"
        if current is None:
            yield f"N8 article {article.pk} has no current revision"
        elif current.content_hash != article.content_hash or (current.content_text or "") != (article.content_text or ""):
            yield f"N8 article {article.pk} is not its current revision"
    counter = ChangeCounter.objects.get(pk=1).value
    for model in (Article, Tombstone):
        last = model._base_manager.aggregate(last=Max("change_seq"))["last"] or 0
        if last > counter:
            yield f"N2 {model._meta.db_table}: change number {last} is above the counter {counter}"


def _files(store: ContentStore) -> Iterator[str]:
    """N8: rows without their file, and files that are not what their name says."""
    for file in Attachment.objects.filter(status=Attachment.Status.DONE).iterator(chunk_size=500):
        if not file.file_path or not store.exists(file.file_path):
            yield f"N8 attachment {file.pk} has no file {file.file_path}"
        elif (file.file_hash or "-") != _name(file.file_path) or file.size_bytes != store.size(file.file_path):
            yield f"N8 attachment {file.pk} is not of the hash or size of its file {file.file_path}"
    for pk, text in Article.objects.exclude(text_path=None).values_list("pk", "text_path").iterator(chunk_size=500):
        if text and not store.exists(text):
            yield f"N8 article {pk} has no text {text}"
    for pk, manifest in ArticleRevision.objects.values_list("pk", "raw_manifest").iterator(chunk_size=500):
        for entry in (manifest or {}).get("responses", []):
            if not store.exists(entry["key"]):
                yield f"N8 revision {pk} has no raw page {entry['key']}"
    for folder in ("attachments", "text", "raw"):
        for key in store.keys(folder):
            if not _named_by_content(store, key):
                yield f"N8 file {key} is not what its name says"


def _named_by_content(store: ContentStore, key: str) -> bool:
    name, sha256 = _name(key), hashlib.sha256()
    try:
        if key.startswith("raw/"):
            return hashlib.sha256(store.read_gzip(key)).hexdigest() == name
        with store.open(key) as file:
            while piece := file.read(1 << 20):
                sha256.update(piece)
        return sha256.hexdigest() == name
    except (EOFError, zlib.error, OSError):  # cut, damaged or gone: BadGzipFile is an OSError
        return False


def _name(key: str) -> str:
    """The hash in a key."""
    return key.rsplit("/", 1)[-1].split(".", 1)[0]
