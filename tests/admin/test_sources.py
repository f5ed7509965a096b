"""Sites, targets and bindings as a steward types them: checked like site files, scheduled, never against a file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from crawl.models import CrawlFailure, CrawlJob, SourceHealth
from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from tests import rows
from tests.admin import data
from tests.admin.conftest import MakeClient

pytestmark = pytest.mark.django_db
NOON = datetime(2024, 3, 15, 4, 0, tzinfo=UTC)
NEXT_NIGHT = datetime(2024, 3, 15, 19, 30, tzinfo=UTC)  # 03:30 of the 16th in Beijing


def address(model: str, name: str, *args: Any) -> str:
    return reverse(f"admin:sources_{model}_{name}", args=args)


def site_form(**fields: Any) -> dict[str, Any]:
    return {
        "site_code": "1-9",
        "site_name": "某县政府",
        "cms_adapter": "trs_wcm",
        "enabled": "on",
        "respect_robots": "on",
        **fields,
    }


def target_form(site: CrawlSite, **fields: Any) -> dict[str, Any]:
    defaults = {"site": site.pk, "target_code": "1-9-1", "entry_url": "http://www.example/a/", "enabled": "on"}
    return {**defaults, "expected_cadence_days": "30", **fields}


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, response
    return dict(response.context["adminform"].form.errors)


def test_a_new_site_is_managed_here(steward: Client) -> None:
    assert steward.post(address("crawlsite", "add"), site_form()).status_code == 302
    site = CrawlSite.objects.get()
    assert (site.managed_by, site.cms_adapter, site.yaml_path, site.base_url) == ("ui", "trs_wcm", None, None)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"cms_adapter": ""}, "cms_adapter", "必须且只能填一个"),
        ({"yaml_path": "a.yaml"}, "cms_adapter", "必须且只能填一个"),
        ({"cms_adapter": "trs"}, "cms_adapter", "没有适配器“trs”。可选：gkmlpt"),
        ({"schedule_cron": "30 3 * *"}, "schedule_cron", "“30 3 * *”不是定时表达式。请写五段"),
        ({"schedule_cron": "61 3 * * *"}, "schedule_cron", "不是定时表达式"),
        ({"base_url": "ftp://x/"}, "base_url", "“ftp://x/”不是网址。请填写完整网址"),
        ({"base_url": "http://user:secret@x/"}, "base_url", "不是网址"),
        ({"site_code": "../etc"}, "site_code", "“../etc”不是合法代码"),
        ({"adapter_params_json": "[1]"}, "adapter_params_json", "花括号对象"),
        ({"adapter_params_json": '{"nonsense": 1}'}, "adapter_params_json", "参数“nonsense”不是此适配器的参数"),
        (
            {"adapter_params_json": '{"row_selector": 5}'},
            "adapter_params_json",
            "参数“row_selector”必须是带引号的文本（当前值：5）",
        ),
        ({"daily_max_requests": "0"}, "daily_max_requests", "请填 1 或更大的数"),
        ({"backoff_min_sec": "9", "backoff_max_sec": "8"}, "backoff_min_sec", "请对调"),
        ({"crawl_window_start": "08:00"}, "crawl_window_end", "开始和结束"),
        ({"crawl_window_start": "08:00", "crawl_window_end": "08:00"}, "crawl_window_end", "全天采集"),
    ],
)
def test_a_wrong_site_is_refused_by_field_value_and_remedy(
    steward: Client, fields: dict[str, str], field: str, words: str
) -> None:
    found = errors(steward.post(address("crawlsite", "add"), site_form(**fields)))
    assert words in " ".join(found[field]), found
    assert not CrawlSite.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"entry_url": ""}, "entry_url", "启用的目标必须有入口网址"),
        ({"entry_url": "www.example/a"}, "entry_url", "不是网址"),
        ({"schedule_cron": "daily"}, "schedule_cron", "不是定时表达式"),
        ({"parser_override_json": '{"pager": "maybe"}'}, "parser_override_json", "参数“pager"),
        ({"interval_sec": "-1"}, "interval_sec", "请填 0 或更大的数"),
        ({"expected_cadence_days": "0"}, "expected_cadence_days", "请填 1 或更大的数"),
    ],
)
def test_a_wrong_target_is_refused(steward: Client, fields: dict[str, str], field: str, words: str) -> None:
    found = errors(steward.post(address("crawltarget", "add"), target_form(data.site(), **fields)))
    assert words in " ".join(found[field]), found
    assert not CrawlTarget.objects.exists()


def test_a_path_of_another_site_is_refused(steward: Client) -> None:
    other = rows.path(site=data.site(site_code="1-8"))
    found = errors(steward.post(address("crawltarget", "add"), target_form(data.site(), site_department=other.pk)))
    assert "另一个站点" in found["site_department"][0]


@time_machine.travel(NOON, tick=False)
def test_saving_a_target_sets_when_it_is_due(steward: Client) -> None:
    site = data.site()
    steward.post(address("crawltarget", "add"), target_form(site, schedule_cron="30 3 * * *"))
    target = CrawlTarget.objects.get()
    assert target.next_due_at == NEXT_NIGHT
    steward.post(address("crawltarget", "change", target.pk), target_form(site, schedule_cron="30 3 * * *", enabled=""))
    target.refresh_from_db()
    assert (target.enabled, target.next_due_at) == (False, None)
    steward.post(address("crawltarget", "change", target.pk), target_form(site, schedule_cron=""))
    target.refresh_from_db()
    assert (target.enabled, target.next_due_at, target.schedule_cron) == (True, None, None)


@time_machine.travel(NOON, tick=False)
def test_the_cron_of_the_site_counts_for_targets_without_one(steward: Client) -> None:
    site = data.site(site_code="1-9")
    target = data.target(site)
    steward.post(address("crawlsite", "change", site.pk), site_form(schedule_cron="30 3 * * *"))
    target.refresh_from_db()
    assert target.next_due_at == NEXT_NIGHT
    steward.post(address("crawlsite", "change", site.pk), site_form(schedule_cron="30 3 * * *", enabled=""))
    target.refresh_from_db()
    assert target.next_due_at is None


@time_machine.travel(NOON, tick=False)
def test_other_changes_leave_the_times_that_workers_move(steward: Client) -> None:
    site = data.site()
    moved = datetime(2024, 3, 20, tzinfo=UTC)
    target = data.target(
        site, target_code="1-9-1", entry_url="http://www.example/a/", schedule_cron="30 3 * * *", next_due_at=moved
    )
    form = target_form(site, schedule_cron="30 3 * * *", target_name="新名称")
    steward.post(address("crawltarget", "change", target.pk), form)
    target.refresh_from_db()
    assert (target.target_name, target.next_due_at) == ("新名称", moved)


def test_what_a_file_rules_is_only_shown(steward: Client) -> None:
    site = data.site(managed_by="yaml")
    target = data.target(site)
    for model, row, form in (("crawlsite", site, site_form()), ("crawltarget", target, target_form(site))):
        shown = steward.get(address(model, "change", row.pk))
        assert "由文件管理" in shown.content.decode() and 'name="_save"' not in shown.content.decode()
        assert steward.post(address(model, "change", row.pk), form).status_code == 403
        assert "请从文件中删除" in steward.post(address(model, "delete", row.pk), {"post": "yes"}, follow=True).content.decode()
    assert "由文件管理" in errors(steward.post(address("crawltarget", "add"), target_form(site)))["site"][0]
    assert CrawlSite.objects.count() == CrawlTarget.objects.count() == 1


def test_a_target_of_a_file_can_still_be_run(steward: Client) -> None:
    target = data.target(data.site(managed_by="yaml"))
    steward.post(address("crawltarget", "run", target.pk))
    assert CrawlJob.objects.get().target_code == target.target_code


def test_binding_and_department_are_saved_together(steward: Client) -> None:
    department = rows.department()
    path = rows.path(site=data.site(managed_by="yaml"))
    change = address("sitedepartment", "change", path.pk)
    assert "必须选择 OA 部门" in errors(steward.post(change, {"dept_binding": "mapped"}))["local_dept"][0]
    found = errors(steward.post(change, {"dept_binding": "pending", "local_dept": department.pk}))
    assert "只有“已映射”的路径才有 OA 部门" in found["local_dept"][0]
    assert steward.post(change, {"dept_binding": "mapped", "local_dept": department.pk}).status_code == 302
    path.refresh_from_db()
    assert (path.dept_binding, path.local_dept) == ("mapped", department)
    assert steward.post(change, {"dept_binding": "city_level", "local_dept": ""}).status_code == 302
    path.refresh_from_db()
    assert (path.dept_binding, path.local_dept) == ("city_level", None)


def test_the_department_shows_its_paths_and_gives_them_back(steward: Client) -> None:
    department = rows.department()
    path = rows.path(site=data.site(), local_dept=department, dept_binding="mapped")
    shown = steward.get(reverse("admin:departments_localdepartment_change", args=[department.pk])).content.decode()
    assert address("sitedepartment", "change", path.pk) in shown
    steward.post(reverse("admin:departments_localdepartment_delete", args=[department.pk]), {"post": "yes"})
    path.refresh_from_db()
    assert (path.dept_binding, path.local_dept_id) == ("pending", None)


def test_a_site_with_articles_is_not_deleted_and_says_why(steward: Client) -> None:
    site = data.site()
    data.article(site)
    chosen = {"action": "delete_selected", "_selected_action": [site.pk]}
    for response in (
        steward.get(address("crawlsite", "delete", site.pk), follow=True),
        steward.post(address("crawlsite", "delete", site.pk), {"post": "yes"}, follow=True),
        steward.post(address("crawlsite", "changelist"), {**chosen, "post": "yes"}, follow=True),
    ):
        assert "“青府市人民政府”不能删除：还有属于它的文章（1）" in response.content.decode()
    assert CrawlSite.objects.exists()


def test_a_site_without_articles_goes_with_all_that_is_its_own(staff_with: MakeClient) -> None:
    site = data.site()
    target = data.target(site)
    rows.path(site=site)
    CrawlFailure.objects.create(target=target, url="u", url_hash="0" * 64, error_class="TIMEOUT", error_msg="")
    SourceHealth.objects.create(target=target)
    permissions = [f"sources.{verb}_{model}" for verb in ("view", "delete") for model in ("crawlsite", "crawltarget")]
    client = staff_with(*permissions)
    asked = client.get(address("crawlsite", "delete", site.pk)).content.decode()
    assert "通知公告" in asked
    client.post(address("crawlsite", "changelist"), {"action": "delete_selected", "_selected_action": [site.pk], "post": "yes"})
    assert not (CrawlSite.objects.exists() or CrawlTarget.objects.exists() or SiteDepartment.objects.exists())


def test_changes_are_kept_field_by_field(steward: Client) -> None:
    from auditlog.models import LogEntry

    site = data.site(site_code="1-9", site_name="旧名")
    LogEntry.objects.all().delete()
    steward.post(
        address("crawlsite", "change", site.pk), site_form(site_name="新名", base_url=site.base_url, site_role=site.site_role)
    )
    entry = LogEntry.objects.get()
    assert entry.changes_dict["site_name"] == ["旧名", "新名"]
    assert entry.actor is not None and entry.actor.get_username() == "管理员"
