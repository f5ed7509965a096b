"""Claim and acknowledge over HTTP. The key says which consumer speaks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from articles import export
from articles.api import outputs
from articles.api.inputs import MAX_LIMIT, Strict, body
from articles.api.rows import article_details
from articles.models import ArticleRevision
from govcrawler.access.authentication import client_of
from govcrawler.access.openapi import problems
from govcrawler.audit.record import describe


class ClaimIn(Strict):
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=50)
    lease_seconds = serializers.IntegerField(min_value=10, max_value=86_400, default=600)


class AckItemIn(Strict):
    article_id = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    revision = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    status = serializers.ChoiceField(["done", "failed"])
    task_ids = serializers.ListField(child=serializers.CharField(max_length=200), max_length=100, default=list)
    error = serializers.CharField(allow_blank=True, max_length=4000, default="")
    retry_after_sec = serializers.IntegerField(min_value=0, max_value=604_800, allow_null=True, default=None)


class AckIn(Strict):
    items = serializers.ListField(child=AckItemIn(), allow_empty=False, max_length=500)


class ClaimView(APIView):
    required_scope = "export"
    audit_action = "export.claim"

    @extend_schema(operation_id="exports_claim", request=ClaimIn, responses={200: outputs.ClaimOut, **problems(400, 413)})
    def post(self, request: Request) -> Response:
        """Takes revisions that this consumer has not acknowledged, with their text, under a lease."""
        asked = body(request, ClaimIn)
        consumer = client_of(request).key.consumer
        claim = export.claim(consumer, asked["limit"], asked["lease_seconds"])
        describe(request, resource_type="consumer", resource_id=f"{consumer}:{claim.token or 'nothing'}")
        return Response({"claim": claim.token, "lease_until": claim.lease_until, "items": _documents(claim.items)})


def _documents(items: list[export.Claimed]) -> list[dict[str, Any]]:
    """The claimed revisions with title and text of exactly that revision. What was deleted since is left out."""
    details = article_details([item.article_id for item in items], text=False)
    texts = {
        pk: (title, text)
        for pk, title, text in ArticleRevision.objects.filter(pk__in=[item.revision for item in items]).values_list(
            "id", "title", "content_text"
        )
    }
    documents = []
    for item in items:
        if item.article_id in details and item.revision in texts:
            title, text = texts[item.revision]
            article = details[item.article_id] | {"revision": item.revision, "title": title, "content_text": text}
            documents.append(asdict(item) | {"article": article})
    return documents


class AckView(APIView):
    required_scope = "export"
    audit_action = "export.ack"

    @extend_schema(operation_id="exports_ack", request=AckIn, responses={200: outputs.AckOut, **problems(400, 413)})
    def post(self, request: Request) -> Response:
        """Says of each revision whether it was taken; answers per item. Repeating a call changes nothing."""
        asked = body(request, AckIn)
        consumer = client_of(request).key.consumer
        results = export.ack(consumer, [export.Ack(**item) for item in asked["items"]])
        repeated = all(result.code == "repeat" for result in results)
        named = str(results[0].article_id) if len(results) == 1 else f"{len(results)} articles"
        describe(
            request,
            action="export.ack.repeat" if repeated else "export.ack",
            resource_type="consumer",
            resource_id=f"{consumer}:{named}",
        )
        return Response({"results": [asdict(result) for result in results]})
