"""Synthetic articles in the shape of a government notice: the same words for the same numbers, in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from sources.adapters.base import ArticleRef, ParsedArticle

if TYPE_CHECKING:
    from articles.record import Found
    from sources.models import CrawlTarget

BATCH = 50
SIGNS = "市县乡镇政务公开通知公告办法条例规划实施管理服务申报审批监督检查项目资金教育卫生环境交通住房就业安全发展改革财政统计"
FIRST_DAY = datetime(2024, 1, 2, 1, 30, tzinfo=UTC)


def target() -> CrawlTarget:
    """The target to which all articles belong; made with its site when it does not exist."""
    from sources.models import CrawlSite, CrawlTarget

    site, _ = CrawlSite.objects.get_or_create(site_code="bench", cms_adapter="trs_wcm")
    words = {"channel_name": "通知公告", "content_category": "通知公告"}
    return CrawlTarget.objects.get_or_create(target_code="bench", defaults={"site": site, **words})[0]


def found(of: CrawlTarget, first: int) -> Iterator[Found]:
    """Articles numbered from ``first``, without end: about 1,200 characters of text, twice that of HTML."""
    from articles.record import Found

    number = first
    while True:
        day = FIRST_DAY + timedelta(hours=number)
        url = f"http://bench.example/tzgg/{day:%Y%m}/t{number}.html"
        ref = ArticleRef(
            url, f"关于事项{number}的通知", str(number), day.date(), raw={"title": f"关于事项{number}的通知", "url": url}
        )
        response = {
            "url": url,
            "final_url": url,
            "status": 200,
            "headers": {"content-type": "text/html"},
            "key": f"raw/{number}.gz",
        }
        yield Found(of, ref, parsed(ref, number, day), day, "httpx", "bench/1", [response], text_key=f"text/{number}.txt")
        number += 1


def parsed(ref: ArticleRef, number: int, day: datetime) -> ParsedArticle:
    words = random.Random(number)
    paragraphs = ["".join(words.choices(SIGNS, k=150)) + "。" for _ in range(8)]
    return ParsedArticle(
        url=ref.url,
        title=ref.title,
        body_text="\n".join(paragraphs),
        body_html="".join(
            f'<p style="text-indent: 2em"><span style="font-size: 16px">{text}</span></p>' for text in paragraphs
        ),
        native_id=ref.native_id,
        publish_time=day,
        publish_precision="minute",
        publish_date=day.date(),
        source_raw="市政府办公室",
        index_no=f"0071/{number}",
        doc_no=f"政办〔{day.year}〕{number}号",
        publisher="市政府办公室",
        metadata={"索引号": f"0071/{number}", "文号": f"政办〔{day.year}〕{number}号"},
    )


def batches(of: CrawlTarget, first: int, count: int) -> Iterator[Sequence[Found]]:
    """``count`` articles in batches of 50, made one batch at a time so that making them is not measured."""
    stream = found(of, first)
    for _ in range(count // BATCH):
        yield list(islice(stream, BATCH))
