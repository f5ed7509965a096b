"""The main job as a steward sees it: a real worker crawls a real site because of a click, and stops because of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import expect

from articles.models import Article
from crawl.models import CrawlJob
from deploy.demo.serve import DemoSite
from govcrawler.audit.models import AdminAuditLog
from sources.models import CrawlTarget
from tests.browser.steward import NAME, Steward
from tests.demo_crawl import crawl_settings, wait_until, watch_demo, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.processes]

QUICK, SLOW = "gk-32", "fgw-xmgs"


def test_a_click_crawls_a_target_its_articles_show_and_another_click_stops_a_running_job(
    steward: Steward, process_env: dict[str, str], tmp_path: Path
) -> None:
    with DemoSite(crawl_delay=0) as site:
        watch_demo(site, tmp_path / "sites", {QUICK, SLOW})
        CrawlTarget.objects.filter(target_code=SLOW).update(interval_sec=5)
        env = {**process_env, **crawl_settings(site, Path(settings.CONTENT_DIR)), "CRAWL_WORKERS": "1"}
        with worker(env, tmp_path / "worker.log"):
            steward.log_in()
            run(steward, QUICK)
            wait_until("the job is done", lambda: CrawlJob.objects.filter(target_code=QUICK, status="done").exists(), 60)
            steward.page.click("#nav-sidebar >> text=文章")
            expect(steward.page.locator("#result_list tbody tr")).to_have_count(8)
            steward.picture("crawled_articles")
            open_first_article(steward)

            run(steward, SLOW)
            slow = CrawlJob.objects.filter(target_code=SLOW)
            wait_until("the job runs", lambda: slow.filter(status="running").exists(), 60)
            steward.page.click("#nav-sidebar >> text=任务")
            steward.page.click("#result_list button:has-text('取消任务')")
            wait_until("the job has stopped", lambda: slow.filter(status="canceled").exists(), 30)
    told = AdminAuditLog.objects.filter(actor=NAME).values_list("action", flat=True)
    assert {"login", "target.run", "job.cancel"} <= set(told)
    assert (steward.dialogs, steward.errors, steward.away) == ([], [], [])


def run(steward: Steward, code: str) -> None:
    target = CrawlTarget.objects.get(target_code=code)
    steward.open(f"/admin/sources/crawltarget/{target.pk}/change/")
    steward.page.locator("#target-buttons button", has_text="运行").first.click()
    expect(steward.page.locator("body")).to_contain_text("已排队")


def open_first_article(steward: Steward) -> None:
    article = Article.objects.exclude(content__content_text="").order_by("pk")[0]
    steward.open(f"/admin/articles/article/{article.pk}/change/")
    expect(steward.page.locator("body")).to_contain_text(article.title or "")
    frame = steward.page.frame_locator("iframe[sandbox]")
    expect(frame.locator("body")).to_contain_text((article.content_text or "").splitlines()[0])
    steward.picture("crawled_article")
