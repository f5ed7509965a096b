"""Running, forcing and cancelling from the target and job screens: by POST, with permission, with an audit row."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from crawl.models import CrawlJob
from govcrawler.audit.models import AdminAuditLog
from sources.models import CrawlTarget
from tests.admin import data
from tests.admin.conftest import MakeClient

pytestmark = pytest.mark.django_db
LIST = "admin:sources_crawltarget_changelist"
JOBS = "admin:crawl_crawljob_changelist"
VIEW = ("sources.view_crawltarget", "crawl.view_crawljob")
RUN, CANCEL = "crawl.add_crawljob", "crawl.change_crawljob"


@pytest.fixture
def target(db: None) -> CrawlTarget:
    return data.target(data.site())


def page(name: str, row: object) -> str:
    return reverse(f"admin:sources_crawltarget_{name}", args=[row.pk])  # type: ignore[attr-defined]


def test_run_queues_a_job_and_links_it(steward: Client, target: CrawlTarget) -> None:
    response = steward.post(page("run", target), follow=True)
    job = CrawlJob.objects.get()
    assert (job.target_code, job.source, job.force, job.status) == (target.target_code, "manual", False, "queued")
    assert reverse("admin:crawl_crawljob_change", args=[job.pk]) in response.content.decode()
    row = AdminAuditLog.objects.get()
    assert (row.action, row.resource_type, row.resource_id) == ("target.run", "crawl_target", target.target_code)
    assert (row.actor, row.status_code) == ("管理员", 302)


def test_running_again_is_no_error_and_makes_no_second_job(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    response = steward.post(page("run", target), follow=True)
    assert CrawlJob.objects.count() == 1
    assert "无需重复" in response.content.decode()


def test_force_is_an_action_of_its_own(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("force", target))
    assert CrawlJob.objects.get().force is True
    assert AdminAuditLog.objects.get().action == "target.force_run"


def test_cancel_from_the_target_page(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    steward.post(page("cancel", target))
    assert CrawlJob.objects.get().status == "canceled"
    assert AdminAuditLog.objects.latest("pk").action == "job.cancel"


def test_cancel_from_the_list_of_jobs(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    job = CrawlJob.objects.get()
    response = steward.post(reverse(JOBS), {"action": "cancel_selected", "_selected_action": [job.pk]}, follow=True)
    assert "已取消" in response.content.decode()
    assert CrawlJob.objects.get().status == "canceled"
    row = AdminAuditLog.objects.latest("pk")
    assert (row.action, row.resource_id) == ("job.cancel", job.pk)
    again = steward.post(reverse("admin:crawl_crawljob_cancel", args=[job.pk]), follow=True)
    assert "此前已经结束" in again.content.decode()


def test_list_actions_run_and_force(steward: Client, target: CrawlTarget) -> None:
    other = data.target(target.site, target_code="1-1-7")
    chosen = {"_selected_action": [target.pk, other.pk]}
    steward.post(reverse(LIST), {"action": "run_selected", **chosen})
    assert CrawlJob.objects.count() == 2
    steward.post(reverse(LIST), {"action": "cancel_selected", **chosen})
    assert set(CrawlJob.objects.values_list("status", flat=True)) == {"canceled"}
    steward.post(reverse(LIST), {"action": "force_selected", **chosen})
    assert CrawlJob.objects.filter(force=True).count() == 2
    assert list(AdminAuditLog.objects.order_by("pk").values_list("action", flat=True)) == [
        "target.run",
        "job.cancel",
        "target.force_run",
    ]


@pytest.mark.parametrize("name", ["run", "force", "cancel"])
def test_nothing_happens_by_get(steward: Client, target: CrawlTarget, name: str) -> None:
    assert steward.get(page(name, target)).status_code == 405
    assert not CrawlJob.objects.exists()


def test_a_job_is_not_cancelled_by_get(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    job = CrawlJob.objects.get()
    assert steward.get(reverse("admin:crawl_crawljob_cancel", args=[job.pk])).status_code == 405
    assert CrawlJob.objects.get().status == "queued"


def test_a_post_without_token_is_refused(steward: Client, target: CrawlTarget) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = steward.cookies
    assert strict.post(page("run", target)).status_code == 403
    assert not CrawlJob.objects.exists()


def test_looking_does_not_allow_running(staff_with: MakeClient, target: CrawlTarget) -> None:
    client = staff_with(*VIEW)
    listed = client.get(reverse(LIST)).content.decode()
    assert page("run", target) not in listed and "run_selected" not in listed
    assert page("run", target) not in client.get(page("change", target)).content.decode()
    assert client.post(page("run", target)).status_code == 403
    assert client.post(page("force", target)).status_code == 403
    assert client.post(page("cancel", target)).status_code == 403
    client.post(reverse(LIST), {"action": "run_selected", "_selected_action": [target.pk]})
    assert not CrawlJob.objects.exists()


def test_running_does_not_allow_cancelling(staff_with: MakeClient, target: CrawlTarget) -> None:
    client = staff_with(*VIEW, RUN)
    client.post(page("run", target))
    job = CrawlJob.objects.get()
    assert client.post(reverse("admin:crawl_crawljob_cancel", args=[job.pk])).status_code == 403
    client.post(reverse(JOBS), {"action": "cancel_selected", "_selected_action": [job.pk]})
    assert CrawlJob.objects.get().status == "queued"


def test_cancelling_does_not_allow_running(staff_with: MakeClient, steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    client = staff_with(*VIEW, CANCEL)
    client.post(page("cancel", target))
    assert CrawlJob.objects.get().status == "canceled"
    assert client.post(page("run", target)).status_code == 403


def test_targets_that_cannot_run_say_why(steward: Client) -> None:
    site = data.site(base_url=None)
    bare = data.target(site, entry_url=None)
    off = data.target(site, target_code="1-1-8", target_name="停用的", enabled=False)
    assert "没有入口网址" in steward.post(page("run", bare), follow=True).content.decode()
    assert "停用的 已停用，请先启用" in steward.post(page("run", off), follow=True).content.decode()
    site.enabled = False
    site.save()
    assert "所属站点已停用" in steward.post(page("run", bare), follow=True).content.decode()
    assert not CrawlJob.objects.exists()


def test_a_running_job_is_told_to_stop(steward: Client, target: CrawlTarget) -> None:
    steward.post(page("run", target))
    CrawlJob.objects.update(status="running")
    response = steward.post(page("cancel", target), follow=True)
    assert "将在下一次请求之前停止" in response.content.decode()
    assert CrawlJob.objects.get().stop_requested is True
    assert "正在停止" in steward.get(reverse(JOBS)).content.decode()


def test_a_button_never_leads_to_another_site(steward: Client, target: CrawlTarget) -> None:
    response = steward.post(page("run", target), headers={"referer": "http://evil.example/admin/"})
    assert response["Location"] == page("change", target)


def test_jobs_say_in_words_why_they_wait(steward: Client) -> None:
    data.everything()
    assert "周末不采集，等到 2024-03-18 00:00" in steward.get(reverse(JOBS)).content.decode()
