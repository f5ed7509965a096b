"""A steward's way through the admin in a real Chromium: log in, run, cancel, read a hostile article, switch the language."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from crawl.models import CrawlJob
from tests.admin import data
from tests.browser.steward import Steward

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def test_a_target_is_run_and_its_job_cancelled(steward: Steward) -> None:
    data.target(data.site())
    steward.open("/admin/")
    expect(steward.page.locator("body")).to_contain_text("政府信息采集 GovCrawler")
    steward.picture("login")
    steward.log_in()
    steward.picture("index")
    steward.page.click("#nav-sidebar >> text=采集目标")
    steward.picture("targets")
    steward.page.click("#result_list button:has-text('运行')")
    expect(steward.page.locator("body")).to_contain_text("通知公告：已排队")
    assert CrawlJob.objects.get().status == "queued"
    steward.picture("targets_run")
    steward.page.click("#nav-sidebar >> text=任务")
    expect(steward.page.locator("#result_list")).to_contain_text("排队")
    steward.picture("jobs")
    steward.page.click("#result_list button:has-text('取消任务')")
    expect(steward.page.locator("body")).to_contain_text("已取消")
    assert CrawlJob.objects.get().status == "canceled"
    steward.picture("jobs_cancelled")
    assert (steward.dialogs, steward.errors, steward.away) == ([], [], [])


def test_the_buttons_of_the_target_page(steward: Steward) -> None:
    made = data.target(data.site())
    steward.log_in()
    steward.open(f"/admin/sources/crawltarget/{made.pk}/change/")
    steward.picture("target")
    steward.page.click("#target-buttons >> text=强制重新运行")
    expect(steward.page.locator("body")).to_contain_text("已排队")
    assert CrawlJob.objects.get().force is True
    steward.page.click("#target-buttons >> text=取消任务")
    expect(steward.page.locator("body")).to_contain_text("已取消")
    assert CrawlJob.objects.get().status == "canceled"


def test_a_hostile_article_is_only_text(steward: Steward) -> None:
    made = data.article(data.site(), title=data.HOSTILE, metadata_json={"</script>": data.HOSTILE})
    made.content.content_html = data.HOSTILE_BODY
    made.content.save()
    data.attachment(made, name="附件<script>window.hit=1</script>.pdf")
    steward.log_in()
    for name, path in (
        ("article", f"/admin/articles/article/{made.pk}/change/"),
        ("articles", "/admin/articles/article/"),
        ("remove", f"/admin/articles/article/{made.pk}/remove/"),
        ("revision", f"/admin/articles/articlerevision/{made.current_revision_id}/change/"),
        ("files", "/admin/articles/attachment/"),
    ):
        steward.open(path)
        steward.page.wait_for_load_state("networkidle")
        steward.picture(f"hostile_{name}")
        assert steward.page.evaluate("window.hit === undefined"), name
        assert "<script>window.hit=1" in (steward.page.text_content("#main") or "") or name in {"articles", "files"}, name
    steward.open(f"/admin/articles/article/{made.pk}/change/")
    frame = steward.page.frame_locator("iframe[sandbox]")
    expect(frame.locator("body")).to_contain_text("正文第一句。")
    expect(frame.locator("td")).to_have_text("表格")
    steward.page.locator("iframe[sandbox]").scroll_into_view_if_needed()
    steward.page.screenshot(path=steward.pictures / "hostile_body.png")
    assert frame.locator("script, svg, img, a, textarea, [onclick]").count() == 0
    assert (steward.dialogs, steward.errors, steward.away) == ([], [], [])


def test_the_language_is_switched_in_the_header(steward: Steward) -> None:
    data.everything()
    steward.log_in()
    steward.open("/admin/articles/article/")
    expect(steward.page.locator("body")).to_contain_text("文号")
    steward.picture("articles_zh")
    steward.page.click("#language-switch >> text=English")
    expect(steward.page.locator("#language-switch [aria-current]")).to_have_text("English")
    expect(steward.page.locator("#result_list")).to_contain_text("Document number", ignore_case=True)
    steward.picture("articles_en")
    steward.page.click("#language-switch >> text=简体中文")
    expect(steward.page.locator("body")).to_contain_text("文号")


def test_no_list_squeezes_its_text_or_leaves_its_page(steward: Steward) -> None:
    made = data.everything()
    made.title = "关于进一步优化营商环境促进民营经济高质量发展若干措施的通知" * 3
    made.save()
    steward.log_in()
    for app, model in (
        ("articles", "article"),
        ("articles", "articlerevision"),
        ("articles", "attachment"),
        ("sources", "crawlsite"),
        ("sources", "crawltarget"),
        ("sources", "sitedepartment"),
        ("departments", "localdepartment"),
        ("crawl", "crawljob"),
        ("crawl", "crawlrun"),
        ("crawl", "crawllog"),
        ("audit", "adminauditlog"),
        ("auditlog", "logentry"),
        ("access", "apikey"),
    ):
        steward.open(f"/admin/{app}/{model}/")
        steward.picture(f"list_{model}")
        narrow = steward.page.evaluate(
            "[...document.querySelectorAll('#result_list th, #result_list td')].filter(cell => cell.innerText.trim().length > 3"
            " && cell.getBoundingClientRect().width < 40).map(cell => cell.innerText)"
        )
        assert narrow == [], model
        assert steward.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), model
    assert (steward.dialogs, steward.errors, steward.away) == ([], [], [])
