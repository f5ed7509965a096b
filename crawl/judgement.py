"""The stored articles judged by a manifest that knows nothing of the product (``deploy/demo``): every field, text and file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Max

from articles.content_store import open_store
from articles.models import Article, ArticleRevision, Attachment, ChangeCounter
from crawl.models import CrawlJob, CrawlRun
from crawl.politeness import CHINA

Manifest = Mapping[str, Any]
TEXT_FIELDS = ("title", "index_no", "doc_no", "publisher", "publish_precision")


def counts(manifest: Manifest) -> Iterator[tuple[Any, ...]]:
    """For each target: code, stored, expected, files, and what its runs skipped, were refused and failed."""
    for target in manifest["targets"]:
        urls = [row["url"] for row in target["articles"]]
        stored = Article.objects.filter(url__in=urls)
        files = Attachment.objects.filter(article__in=stored, status=Attachment.Status.DONE).count()
        reasons = _reasons(target["code"])
        refused = reasons.get("skipped:robots", 0)
        skipped = sum(number for name, number in reasons.items() if name.startswith("skipped:")) - refused
        failed = sum(number for name, number in reasons.items() if name.startswith("failed:"))
        yield target["code"], stored.count(), len(urls), files, skipped, refused, failed


def compare(manifest: Manifest) -> list[str]:
    """Every difference, one line each; empty when the store is what the manifest says."""
    expected: dict[str, dict[str, Any]] = {}
    for target in manifest["targets"]:
        for row in target["articles"]:
            expected.setdefault(row["url"], {**row, "categories": set(), "channels": set()})
            expected[row["url"]]["categories"].add(row["category"])
            expected[row["url"]]["channels"].add(row["channel"])
    stored = {article.url: article for article in Article.objects.select_related("content", "dept")}
    departments = {row["code"]: row["oa_id"] for row in manifest["departments"]}
    faults = [f"missing: {url}" for url in expected.keys() - stored.keys()]
    faults += [f"not of the site: {url}" for url in stored.keys() - expected.keys()]
    for url in expected.keys() & stored.keys():
        faults += [f"{url}: {fault}" for fault in _article_faults(expected[url], stored[url], departments)]
    return sorted(faults) + list(_consistency()) + list(_receipts(manifest))


def _article_faults(row: Mapping[str, Any], article: Article, departments: Mapping[str, int]) -> Iterator[str]:
    for name in TEXT_FIELDS:
        if (getattr(article, name) or "") != (row[name] or ""):
            yield f"{name} is {getattr(article, name)!r}, not {row[name]!r}"
    told = {
        "publish_date": article.publish_date.isoformat() if article.publish_date else None,
        "publish_time": article.publish_time.isoformat() if article.publish_time and row["publish_time"] else None,
        "is_effective": article.is_effective,
        "native_id": article.native_post_id,
        "body_sha256": hashlib.sha256((article.content_text or "").encode()).hexdigest(),
    }
    for name, value in told.items():
        if value != row[name]:
            yield f"{name} is {value!r}, not {row[name]!r}"
    if article.publish_time and article.publish_time.astimezone(CHINA).date() != article.publish_date:
        yield f"publish_time {article.publish_time} is another day than publish_date {article.publish_date}"
    if article.dept_id != departments[row["department"]]:
        yield f"department is {article.dept_id}, not {departments[row['department']]}"
    if article.content_category not in row["categories"] or article.channel_name not in row["channels"]:
        yield f"category {article.content_category!r} or channel {article.channel_name!r} is not the target's"
    if row["open_category"] is not None and (article.open_category or "") != row["open_category"]:
        yield f"open_category is {article.open_category!r}, not {row['open_category']!r}"
    if article.status != Article.Status.READY:
        yield f"status is {article.status}"
    yield from _file_faults(row["attachments"], article)


def _file_faults(rows: list[Mapping[str, Any]], article: Article) -> Iterator[str]:
    store = open_store()
    expected = [(row["url"], row["name"], row["sha256"], row["size"]) for row in rows]
    files = list(article.attachments.order_by("position"))
    stored = [(file.source_url, file.file_name, file.file_hash, file.size_bytes) for file in files]
    if stored != expected:
        yield f"files are {stored}, not {expected}"
    for file in files:
        if not file.file_path or not store.exists(file.file_path):
            yield f"file {file.source_url} is not on disk"
        elif hashlib.sha256(store.open(file.file_path).read()).hexdigest() != file.file_hash:
            yield f"file {file.source_url} on disk is not the one of its hash"


def _consistency() -> Iterator[str]:
    """Rows without their other half, whatever the site is: nothing is lost, doubled or half written (fault-model A0)."""
    store = open_store()
    revisions = {row.pk: row for row in ArticleRevision.objects.all()}
    for article in Article.objects.select_related("content"):
        current = revisions.get(article.current_revision_id or 0)
        if current is None or current.article_id != article.pk:
            yield f"article {article.pk} has no current revision"
            continue
        if (current.content_text or "") != (article.content_text or "") or current.content_hash != article.content_hash:
            yield f"article {article.pk} is not its current revision"
        for entry in (current.raw_manifest or {}).get("responses", []):
            if not store.exists(entry["key"]):
                yield f"article {article.pk}: raw page {entry['key']} is not on disk"
        if article.status == Article.Status.READY and article.change_seq is None:
            yield f"article {article.pk} is ready without a change number"
    last = Article.objects.aggregate(last=Max("change_seq"))["last"] or 0
    if last > ChangeCounter.objects.get(pk=1).value:
        yield "a change number is above the counter"
    for job in CrawlJob.objects.exclude(status__in=["queued", "running"]).exclude(active_key=None):
        yield f"job {job.pk} has ended and still blocks its target"
    for run in CrawlRun.objects.filter(finished_at=None).exclude(job_id__in=_active_jobs()):
        yield f"run {run.pk} was never closed"


def _active_jobs() -> list[str]:
    return list(CrawlJob.objects.filter(status__in=["queued", "running"]).values_list("job_id", flat=True))


def _receipts(manifest: Manifest) -> Iterator[str]:
    """What the runs of each target skipped and were refused must be what the site has of these."""
    for target in manifest["targets"]:
        reasons = _reasons(target["code"])
        told = target["counts"]
        want = {f"skipped:{why}": number for why, number in told["skipped_by_reason"].items()}
        want["skipped:robots"] = told["refused"]
        for name, number in want.items():
            if number and reasons.get(name, 0) < number:
                yield f"{target['code']}: {name} is {reasons.get(name, 0)}, not {number}"


def _reasons(code: str) -> Mapping[str, int]:
    """The most of each reason that any finished run of the target counted: a later run may stop early."""
    most: Counter[str] = Counter()
    for metrics in CrawlRun.objects.filter(target_code=code, finished_at__isnull=False).values_list("metrics_json", flat=True):
        most |= Counter((metrics or {}).get("reasons", {}))
    return most
