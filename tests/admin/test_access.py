"""Keys shown once, history that nobody changes, and menus without what a person may not see."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.forms import modelform_factory
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles.models import Article
from crawl.models import CrawlJob
from govcrawler.access import keys
from govcrawler.access.models import ApiKey
from govcrawler.admin_base import ReadOnly
from govcrawler.audit.models import AdminAuditLog
from tests import rows
from tests.admin import data
from tests.admin.conftest import MakeClient

pytestmark = pytest.mark.django_db
ADD = "admin:access_apikey_add"


def new_key(client: Client, **fields: Any) -> Any:
    return client.post(reverse(ADD), {"name": "知识库", "scopes": ["read", "export"], "consumer": "rag", **fields})


def test_a_new_key_is_shown_once_and_works(steward: Client) -> None:
    shown = new_key(steward, rate_per_minute="60")
    text = shown.context["key"]
    row = ApiKey.objects.get()
    assert text in shown.content.decode() and "no-store" in shown["Cache-Control"]
    assert keys.verify(text) == row
    assert (row.scopes, row.rate_per_minute, row.daily_quota) == (["read", "export"], 60, None)
    for address in (reverse("admin:access_apikey_changelist"), reverse("admin:access_apikey_change", args=[row.pk])):
        page = steward.get(address).content.decode()
        assert text not in page and row.key_hash not in page and text.rpartition("_")[2] not in page
    audit = AdminAuditLog.objects.get()
    assert (audit.action, audit.resource_id) == ("key.create", "知识库")


def test_a_key_leaves_no_trace_in_the_change_log(steward: Client) -> None:
    from auditlog.models import LogEntry

    text = new_key(steward).context["key"]
    row = ApiKey.objects.get()
    kept = str(list(LogEntry.objects.values_list("changes", flat=True)))
    assert row.name in kept or "知识库" in kept or "\\u77e5" in kept
    assert row.key_hash not in kept and text not in kept


@pytest.mark.parametrize(
    "fields",
    [{"scopes": []}, {"scopes": ["root"]}, {"name": ""}, {"rate_per_minute": "0"}, {"daily_quota": "-1"}, {"consumer": ""}],
)
def test_a_wrong_key_is_refused(steward: Client, fields: dict[str, Any]) -> None:
    assert new_key(steward, **fields).context["adminform"].form.errors
    assert not ApiKey.objects.exists()


def test_a_name_is_used_once(steward: Client) -> None:
    keys.create("知识库", ["read"])
    assert "name" in new_key(steward).context["adminform"].form.errors


def test_a_key_is_revoked_not_deleted(steward: Client) -> None:
    row, text = keys.create("知识库", ["read"])
    chosen = {"_selected_action": [row.pk]}
    listed = reverse("admin:access_apikey_changelist")
    assert "已吊销" in steward.post(listed, {"action": "revoke_selected", **chosen}, follow=True).content.decode()
    with pytest.raises(keys.KeyRefused):
        keys.verify(text)
    assert steward.post(reverse("admin:access_apikey_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    steward.post(listed, {"action": "delete_selected", "post": "yes", **chosen})
    assert ApiKey.objects.exists()
    assert AdminAuditLog.objects.filter(action="key.revoke", resource_id="知识库").exists()


def test_limits_change_and_name_and_consumer_stay(steward: Client) -> None:
    row, _text = keys.create("知识库", ["read"])
    form = {"name": "别名", "consumer": "x", "scopes": ["export"], "daily_quota": "9"}
    steward.post(reverse("admin:access_apikey_change", args=[row.pk]), form)
    row.refresh_from_db()
    assert (row.name, row.consumer, row.scopes, row.daily_quota) == ("知识库", "rag", ["export"], 9)


def test_history_is_read_only_even_for_a_superuser(steward: Client) -> None:
    data.everything()
    checked = 0
    for model, known in admin.site._registry.items():
        if not isinstance(known, ReadOnly):
            continue
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        assert steward.get(reverse(f"{name}_add")).status_code == 403, model
        row = model._default_manager.first()
        if row is None:
            continue
        checked += 1
        assert steward.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200, model
        assert steward.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403, model
        assert steward.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403, model
    assert checked >= 18


def test_every_table_of_ours_has_a_screen() -> None:
    from django.apps import apps

    ours = {"departments", "sources", "articles", "crawl", "access", "audit"}
    missing = {model.__name__ for model in apps.get_models() if model._meta.app_label in ours} - {
        model.__name__ for model in admin.site._registry
    }
    assert missing == {"ChangeCounter"}  # one number; the consumers' screen shows it beside their positions


def test_an_empty_active_key_is_null(steward: Client) -> None:
    form = modelform_factory(CrawlJob, fields=["active_key"])
    for number in range(2):
        job = rows.job(job_id=str(number))
        bound = form({"active_key": " "}, instance=job)
        assert bound.is_valid()
        bound.save()
    assert set(CrawlJob.objects.values_list("active_key", flat=True)) == {None}


def test_the_status_box_counts_to_its_cap(steward: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from govcrawler import dashboard

    site = data.site()
    for number in range(3):
        data.article(site)
        rows.job(target_code=str(number), active_key=str(number))
    monkeypatch.setattr(dashboard, "CAP", 2)
    with CaptureQueriesContext(connection) as queries:
        page = steward.get(reverse("admin:index"))
    cards = {card["title"]: card["value"] for card in page.context["status_cards"]}
    assert cards == {"工作进程": "未运行", "排队任务": "2+", "运行中任务": "0", "24 小时内失败": "0", "等待 RAG 接收": "2+"}
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert counts and all("LIMIT 3" in sql for sql in counts)


def test_a_person_sees_only_what_is_allowed(staff_with: MakeClient) -> None:
    data.everything()
    client = staff_with("articles.view_article")
    index = client.get(reverse("admin:index"))
    assert "status_cards" not in index.context
    assert reverse("admin:crawl_crawljob_changelist") not in index.content.decode()
    assert reverse("admin:articles_article_changelist") in index.content.decode()
    assert client.get(reverse("admin:access_apikey_changelist")).status_code == 403
    assert client.get(reverse("admin:articles_article_change", args=[Article.objects.first().pk])).status_code == 200  # type: ignore[union-attr]


def test_a_user_is_made_with_chinese_permissions(steward: Client) -> None:
    form = {"username": "新人", "usable_password": "true", "password1": "vQ8!kk-long", "password2": "vQ8!kk-long"}
    assert steward.post(reverse("admin:auth_user_add"), form).status_code == 302
    user = get_user_model().objects.get(username="新人")
    page = steward.get(reverse("admin:auth_user_change", args=[user.pk])).content.decode()
    assert "采集 | 任务 | 新增" in page
