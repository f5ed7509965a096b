"""One row or more of every table, in Chinese, so that every admin page has something to show."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any

from django.utils import timezone

from articles import content_store
from articles.models import (
    Article,
    ArticleContent,
    ArticleListing,
    ArticleRevision,
    ArticleStandardMeta,
    Attachment,
    ConsumerCursor,
    ConsumerState,
    Tombstone,
)
from crawl.models import (
    Alarm,
    CrawlCluster,
    CrawlFailure,
    CrawlHost,
    CrawlHostDay,
    CrawlLog,
    CrawlRun,
    CrawlSiteDay,
    FieldCoverage,
    SourceHealth,
)
from govcrawler.access import keys
from govcrawler.access.models import ApiKeyUsage
from govcrawler.audit.models import AdminAuditLog
from sources.models import CrawlSite, CrawlTarget
from tests import rows
from tests.articles import feed

PUBLISHED = datetime(2024, 3, 15, 1, 0, tzinfo=UTC)
HOSTILE = "<script>window.hit=1;alert(1)</script>\"'><img src=x onerror=window.hit=1>通知"
HOSTILE_BODY = (
    "<p onclick='window.hit=1'>正文第一句。</p><script>window.top.hit=1;alert(2)</script></textarea><svg onload=alert(3)></svg>"
    "<img src=x onerror='window.top.hit=1'><a href='javascript:alert(4)'>附件</a><table><tr><td>表格</td></tr></table>"
)


def site(**fields: Any) -> CrawlSite:
    defaults = {
        "site_code": "1-1",
        "site_name": "青府市人民政府",
        "base_url": "http://www.example/",
        "managed_by": "ui",
        "site_role": "qingyuan_local",
    }
    return rows.site(**{**defaults, **fields})


def target(of: CrawlSite, **fields: Any) -> CrawlTarget:
    defaults = {"target_code": "1-1-6", "target_name": "通知公告", "entry_url": "http://www.example/zwgk/", "site": of}
    return rows.target(**{**defaults, **fields})


def article(of: CrawlSite, **fields: Any) -> Article:
    defaults: dict[str, Any] = {
        "site": of,
        "title": "关于印发工作方案的通知",
        "publish_time": PUBLISHED,
        "publish_date": date(2024, 3, 15),
        "doc_no": "青府〔2024〕3号",
        "publisher": "青府市人民政府办公室",
        "metadata_json": {"发文日期": "2024年3月15日"},
    }
    return feed.ready("第一行\n第二行", **{**defaults, **fields})


def attachment(of: Article, body: bytes = b"%PDF-1.7", name: str = "附件1：名单.pdf", **fields: Any) -> Attachment:
    digest = content_store.digest(body)
    key = content_store.attachment_key(digest, "pdf")
    content_store.open_store().put(key, body)
    defaults: dict[str, Any] = {
        "article": of,
        "file_name": name,
        "file_ext": "pdf",
        "size_bytes": len(body),
        "file_path": key,
        "file_hash": digest,
        "status": "done",
        "source_url": "http://www.example/f.pdf",
        "url_hash": sha256(name.encode()).hexdigest(),
    }
    return Attachment.objects.create(**{**defaults, **fields})


def everything() -> Article:
    """All tables; the article whose page has the most to show."""
    department = rows.department(dept_name="市财政局", region="青府", dept_level=1)
    own = site()
    path = rows.path(site=own, dept_path="101/", local_dept=department, dept_binding="mapped", dept_display_name="市财政局")
    column = target(own, site_department=path, dept=department, schedule_cron="30 3 * * *")
    filed = site(site_code="1-2", site_name="文件管理的网站", managed_by="yaml")
    target(filed, target_code="1-2-1", target_name="政策文件")
    rows.path(site=filed, dept_path="102/")
    rows.column(site=own, column_name="通知公告", column_path="政务公开/通知公告", subscribed_target=column)
    made = article(own, target=column, dept=department)
    feed.revise(made, "第一行\n第三行")
    made.refresh_from_db()
    ArticleContent.objects.filter(article=made).update(content_html="<p>第一行</p><p>第三行</p>")
    attachment(made)
    article(own, title="重复的通知", duplicate_of=made, duplicate_reason="native_id", publish_time=None)
    ArticleListing.objects.create(article=made, target=column, row_hash="0" * 64)
    ArticleStandardMeta.objects.create(article=made, standard_no="44-2024", chinese_title="标准")
    Tombstone.objects.create(
        article_id=10**6,
        site_code="1-1",
        url="http://www.example/x",
        url_hash="1" * 64,
        title="已删除",
        change_seq=10**6,
        reason="撤稿",
    )
    _feed(made)
    _crawling(own, column)
    return made


def _feed(made: Article) -> None:
    ConsumerCursor.objects.create(consumer="rag", position=1)
    ConsumerState.objects.create(
        consumer="rag", article=made, revision_id=made.current_revision_id or 0, state="parked", attempts=3
    )
    key, _text = keys.create("知识库", ["read", "export"])
    ApiKeyUsage.objects.create(key=key, window="2024-03-15", requests=3)
    AdminAuditLog.objects.create(actor="管理员", method="POST", path="/", action="login", status_code=302)


def _crawling(own: CrawlSite, column: CrawlTarget) -> None:
    job = rows.job(
        job_id="7" * 32,
        host="1.2.3.4",
        target_code=column.target_code,
        active_key=column.target_code,
        wait_reason="weekend: waits until 2024-03-18 00:00",
    )
    rows.job(
        job_id="8" * 32,
        host="1.2.3.4",
        target_code="1-9",
        status="failed",
        error_msg="the list could not be fetched: 502",
        finished_at=timezone.now(),
    )
    run = CrawlRun.objects.create(
        site=own,
        target=column,
        site_code="1-1",
        target_code=column.target_code,
        scope="full",
        status="succeeded",
        job_id=job.pk,
    )
    job.run_id = run.pk
    job.save()
    CrawlLog.objects.create(site=own, target=column, article_url="http://www.example/a.html", http_status=200, success=True)
    CrawlFailure.objects.create(
        target=column, url="http://www.example/b.html", url_hash="2" * 64, error_class="", error_msg="the worker died or hung"
    )
    CrawlHost.objects.create(host="1.2.3.4", backoff_reason="the worker died or hung")
    CrawlCluster.objects.create(cluster_id="1", hostname="1.2.3.4", pid=7, heartbeat_at=timezone.now() - timedelta(hours=1))
    CrawlSiteDay.objects.create(site=own, day=date(2024, 3, 15), requests=12)
    SourceHealth.objects.create(target=column, runs_7d=3, success_rate_7d=0.5)
    CrawlHostDay.objects.create(host="1.2.3.4", day=date(2024, 3, 15), requests=12, shortest_gap_ms=1500)
    FieldCoverage.objects.create(target=column, run_id=run.pk, articles=3, with_title=3)
    Alarm.objects.create(kind="", subject=column.target_name, severity="critical", message="the worker died or hung")


def revisions(of: Article) -> list[ArticleRevision]:
    return list(of.revisions.order_by("number"))
