"""Claim and acknowledge over HTTP: what is handed out, what is refused, what the audit log says."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from articles.api import outputs
from articles.models import Article, Attachment, ConsumerState
from govcrawler.audit.models import AdminAuditLog
from tests.articles import feed

pytestmark = pytest.mark.django_db
CLAIM, ACK = "/api/v1/exports/claim/", "/api/v1/exports/ack/"


@pytest.fixture
def rag() -> Client:
    return feed.client("export")


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, body, content_type="application/json")


def test_a_claim_hands_out_documents_with_the_text_of_their_revision(rag: Client) -> None:
    article = feed.ready("v1", doc_no="清府〔2026〕7号")
    Attachment.objects.create(article=article, url_hash="a" * 64, file_name="附件.pdf", status="done")
    answer = post(rag, CLAIM, {"limit": 10}).json()
    assert set(answer) == set(outputs.ClaimOut().fields)
    (item,) = answer["items"]
    assert set(item) == set(outputs.ClaimedOut().fields)
    assert set(item["article"]) == set(outputs.ArticleDetailOut().fields)
    assert (item["article_id"], item["revision"], item["attempt"]) == (article.pk, article.current_revision_id, 1)
    assert (item["article"]["content_text"], item["article"]["doc_no"]) == ("v1", "清府〔2026〕7号")
    assert [file["file_name"] for file in item["article"]["attachments"]] == ["附件.pdf"]
    assert answer["claim"] == ConsumerState.objects.get().token and answer["lease_until"].endswith("Z")
    assert post(rag, CLAIM, {}).json() == {"claim": None, "lease_until": None, "items": []}


def test_the_key_says_which_consumer_speaks() -> None:
    feed.ready()
    rag, mirror = feed.client("export"), feed.client("export", consumer="mirror")
    assert len(post(mirror, CLAIM, {}).json()["items"]) == 1
    assert len(post(rag, CLAIM, {}).json()["items"]) == 1
    assert set(ConsumerState.objects.values_list("consumer", flat=True)) == {"rag", "mirror"}


def test_acknowledgements_answer_per_item_and_repeat_harmlessly(rag: Client) -> None:
    article = feed.ready()
    post(rag, CLAIM, {})
    item = {"article_id": article.pk, "revision": article.current_revision_id, "status": "done", "task_ids": ["t1"]}
    unknown = {"article_id": 10**9, "revision": 1, "status": "done"}
    first = post(rag, ACK, {"items": [item, unknown]})
    assert first.status_code == 200
    results = first.json()["results"]
    assert all(set(result) == set(outputs.AckResultOut().fields) for result in results)
    assert [result["code"] for result in results] == ["acked", "not_found"]
    again = post(rag, ACK, {"items": [item]}).json()["results"]
    assert (again[0]["code"], again[0]["acked_at"]) == ("repeat", results[0]["acked_at"])
    assert Article.objects.get().rag_export_task_ids == ["t1"]
    logged = AdminAuditLog.objects.order_by("id").values_list("action", "resource_id")
    assert list(logged)[1:] == [("export.ack", "rag:2 articles"), ("export.ack.repeat", f"rag:{article.pk}")]


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (CLAIM, {"limit": 0}, {"limit"}),
        (CLAIM, {"limit": 201}, {"limit"}),
        (CLAIM, {"lease_seconds": 9}, {"lease_seconds"}),
        (CLAIM, {"lease": 600}, {"lease"}),
        (CLAIM, [], {""}),
        (ACK, {}, {"items"}),
        (ACK, {"items": []}, {"items"}),
        (ACK, {"items": [{"article_id": 1, "revision": 1, "status": "doen"}]}, {"items.0.status"}),
        (
            ACK,
            {"items": [{"article_id": 1, "revision": 1, "status": "done"}, {"article_id": "x", "state": "done"}]},
            {"items.1.state"},
        ),
        (ACK, {"items": [{"article_id": 1, "revision": 2**63, "status": "done"}]}, {"items.0.revision"}),
        (
            ACK,
            {"items": [{"article_id": 1, "revision": 1, "status": "failed", "retry_after_sec": -1}]},
            {"items.0.retry_after_sec"},
        ),
        (ACK, {"items": [{"article_id": 1, "revision": 1, "status": "failed", "error": "\ud800"}]}, {"items.0.error"}),
        (ACK, {"items": [{"article_id": 1, "revision": 1, "status": "done"}] * 501}, {"items"}),
    ],
)
def test_a_wrong_body_is_refused_whole_and_names_the_field(rag: Client, path: str, body: Any, fields: set[str]) -> None:
    article = feed.ready()
    response = post(rag, path, body)
    assert (response.status_code, response.json()["code"]) == (422, "invalid")
    assert {error["field"] for error in response.json()["errors"]} == fields
    assert not ConsumerState.objects.exists() and Article.objects.get(pk=article.pk).rag_export_status == "pending"


def test_a_huge_body_is_refused_before_it_is_read(rag: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = rag.post(ACK, "[" * 101, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_reading_and_exporting_are_different_scopes() -> None:
    assert post(feed.client("read", "operate"), CLAIM, {}).status_code == 403
    assert feed.client("export").get("/api/v1/articles/").status_code == 403
