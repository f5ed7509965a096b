"""The article's screens: read and download, delete only with a reason, nothing of the source ever trusted."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from articles import content_store
from articles.bodies import sanitised
from articles.differences import between
from articles.models import Article, ArticleContent, Tombstone
from govcrawler.audit.models import AdminAuditLog
from tests.admin import data
from tests.admin.conftest import MakeClient
from tests.articles import feed

pytestmark = pytest.mark.django_db
LIST = "admin:articles_article_changelist"


def page(row: Article, name: str = "change") -> str:
    return reverse(f"admin:articles_article_{name}", args=[row.pk])


def test_the_page_shows_body_files_and_revisions(steward: Client) -> None:
    made = data.everything()
    text = steward.get(page(made)).content.decode()
    for expected in (
        "青府〔2024〕3号",
        "发文日期",
        "附件1：名单.pdf",
        "第 2 版",
        "第 1 版",
        "变更号",
        'rel="noreferrer noopener"',
    ):
        assert expected in text, expected
    frame = html.document_fromstring(text).find(".//iframe")
    assert frame is not None and frame.get("sandbox") == ""
    assert "<p>第三行</p>" in frame.get("srcdoc")


def test_hostile_text_stays_text(steward: Client) -> None:
    made = data.article(
        data.site(), title=data.HOSTILE, metadata_json={"</script><b>": data.HOSTILE}, url="javascript:alert(1)"
    )
    ArticleContent.objects.filter(article=made).update(content_html=data.HOSTILE_BODY)
    data.attachment(made, name=data.HOSTILE, status="failed")
    data.attachment(made, name="f", source_url="javascript:alert(2)")
    for address in (page(made), reverse(LIST), reverse("admin:articles_attachment_changelist"), page(made, "remove")):
        text = steward.get(address).content.decode()
        tree = html.document_fromstring(text)
        assert "window.hit" in tree.text_content() or "window.hit" in text
        for script in tree.iter("script"):
            assert "window.hit" not in (script.text or "")
        assert not [
            node
            for node in tree.iter()
            if isinstance(node.tag, str)
            and any("hit" in (value or "") for name, value in node.items() if name.startswith("on"))
        ]
        assert not [node for node in tree.iter("a") if (node.get("href") or "").lower().startswith("javascript")]
    srcdoc = html.document_fromstring(steward.get(page(made)).content.decode()).find(".//iframe").get("srcdoc")  # type: ignore[union-attr]
    assert "正文第一句。" in srcdoc and "<td>表格</td>" in srcdoc
    for gone in ("<script", "onclick", "onerror", "<svg", "<img", "javascript:", "</textarea"):
        assert gone not in srcdoc


@pytest.mark.parametrize(
    ("crawled", "shown"),
    [
        ("<p style='x'>a</p>", "<p>a</p>"),
        ("<form action=/x><input name=a>b</form>", "b"),
        ("<base href=//evil><a href=http://x>c</a>", "c"),
        ("<td colspan=2 onclick=x>d</td>", "d"),
        (
            "<table><tr><td colspan=2 onclick=x>d</td></tr></table>",
            '<table><tbody><tr><td colspan="2">d</td></tr></tbody></table>',
        ),
        ("<iframe srcdoc='<script>1</script>'></iframe>e", "e"),
        ("<style>body{display:none}</style>f", "f"),
        ("<meta http-equiv=refresh content='0;url=http://x'>g", "g"),
    ],
)
def test_bodies_keep_text_and_lose_what_acts(crawled: str, shown: str) -> None:
    assert sanitised(crawled) == shown


def test_a_file_is_downloaded_under_its_own_name_and_never_opened(steward: Client) -> None:
    file = data.attachment(data.article(data.site()), b"<script>1</script>", "附件 1：名单.html")
    response = steward.get(reverse("admin:articles_attachment_download", args=[file.pk]))
    assert b"".join(response.streaming_content) == b"<script>1</script>"  # type: ignore[attr-defined]
    assert response["Content-Disposition"] == (
        "attachment; filename*=utf-8''%E9%99%84%E4%BB%B6%201%EF%BC%9A%E5%90%8D%E5%8D%95.html"
    )
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


def test_a_file_that_is_not_there_says_so(steward: Client) -> None:
    made = data.article(data.site())
    for fields in ({"status": "failed"}, {"file_path": "attachments/00/none.pdf", "name": "b"}):
        file = data.attachment(made, **fields)
        response = steward.get(reverse("admin:articles_attachment_download", args=[file.pk]), follow=True)
        assert "这个文件没有保存" in response.content.decode()


def test_the_stored_page_is_downloaded_unpacked(steward: Client) -> None:
    made = data.article(data.site(), raw_html_path="raw/test/page.gz")
    content_store.open_store().put("raw/test/page.gz", gzip.compress(b"<html>raw</html>"))
    response = steward.get(page(made, "raw"))
    assert b"".join(response.streaming_content) == b"<html>raw</html>"  # type: ignore[attr-defined]
    assert response["Content-Disposition"].startswith("attachment")
    lost = data.article(data.site(site_code="1-8"), raw_html_path="raw/test/lost.gz")
    assert "已丢失" in steward.get(page(lost, "raw"), follow=True).content.decode()


def test_downloads_need_their_permission(staff_with: MakeClient) -> None:
    made = data.article(data.site(), raw_html_path="raw/test/page.gz")
    file = data.attachment(made)
    client = staff_with("sources.view_crawlsite")
    assert client.get(reverse("admin:articles_attachment_download", args=[file.pk])).status_code == 403
    assert client.get(page(made, "raw")).status_code == 403
    assert Client().get(page(made, "raw")).status_code == 302


def test_an_article_is_neither_added_changed_nor_simply_deleted(steward: Client) -> None:
    made = data.article(data.site())
    assert steward.get(reverse("admin:articles_article_add")).status_code == 403
    assert steward.post(page(made), {"title": "x"}).status_code == 403
    assert steward.post(page(made, "delete"), {"post": "yes"}).status_code == 403
    steward.post(reverse(LIST), {"action": "delete_selected", "_selected_action": [made.pk], "post": "yes"})
    assert Article.objects.get().title == made.title


def test_deleting_asks_for_a_reason_and_leaves_a_tombstone(steward: Client) -> None:
    made = data.article(data.site())
    asked = steward.get(page(made, "remove"))
    assert "接收推送的系统会得到通知" in asked.content.decode() and Article.objects.exists()
    for bad in ("", "   ", "长" * 41):
        assert steward.post(page(made, "remove"), {"reason": bad}).status_code == 200
    assert Article.objects.exists()
    response = steward.post(page(made, "remove"), {"reason": "撤稿"}, follow=True)
    assert "已删除 1 篇文章" in response.content.decode()
    stone = Tombstone.objects.get()
    assert (stone.article_id, stone.reason, stone.deleted_by) == (made.pk, "撤稿", "管理员")
    row = AdminAuditLog.objects.latest("pk")
    assert (row.action, row.resource_type, row.resource_id) == ("article.delete", "article", str(made.pk))


def test_several_are_deleted_from_the_list(steward: Client) -> None:
    site = data.site()
    chosen = [data.article(site).pk for _ in range(3)]
    kept = data.article(site)
    posted = {"action": "remove_selected", "_selected_action": chosen}
    assert steward.post(reverse(LIST), posted).status_code == 200 and Article.objects.count() == 4
    steward.post(reverse(LIST), {**posted, "reason": "重复"})
    assert list(Article.objects.values_list("pk", flat=True)) == [kept.pk]
    assert Tombstone.objects.count() == 3


def test_deleting_needs_its_permission(staff_with: MakeClient) -> None:
    made = data.article(data.site())
    client = staff_with("articles.view_article", "articles.change_article")
    assert page(made, "remove") not in client.get(page(made)).content.decode()
    assert client.post(page(made, "remove"), {"reason": "撤稿"}).status_code == 403
    client.post(reverse(LIST), {"action": "remove_selected", "_selected_action": [made.pk], "reason": "撤稿"})
    assert Article.objects.exists()


def test_a_revision_shows_what_changed(steward: Client) -> None:
    made = data.article(data.site())
    feed.revise(made, "第一行\n新的一行<b>")
    first, second = data.revisions(made)
    second.title, second.fields_json = "改了的标题", {"doc_no": "新号"}
    second.save()
    text = steward.get(reverse("admin:articles_articlerevision_change", args=[second.pk])).content.decode()
    for expected in ("改了的标题", "文号", "新号", "新的一行&lt;b&gt;", "第 1 版"):
        assert expected in text, expected
    lines = [(line.kind, line.text) for line in between(first, second).lines if line.kind != "place"]
    assert lines == [("same", "第一行"), ("removed", "第二行"), ("added", "新的一行<b>")]


def test_a_long_difference_is_cut_and_says_so() -> None:
    made = data.article(data.site())
    feed.revise(made, "\n".join(f"行{number}" for number in range(1000)))
    first, second = data.revisions(made)
    difference = between(first, second)
    assert difference.cut and len(difference.lines) == 400
