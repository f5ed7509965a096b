"""Articles, their versions and the stream of changes over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from articles import changes
from articles.api import outputs
from articles.api.inputs import MAX_LIMIT, PageQuery, Strict, decode_cursor, encode_cursor, query
from articles.api.listing import CONTENT, ArticlesQuery, ReadyQuery, articles_page, ready_page
from articles.api.rows import article_details
from articles.models import Article, ArticleRevision, Tombstone
from govcrawler.access.openapi import problems
from govcrawler.access.problems import Problem


class ContentQuery(Strict):
    content = serializers.ChoiceField(CONTENT, default="text")


class RevisionsQuery(PageQuery):
    content = serializers.ChoiceField(CONTENT, default="none")


class ChangesQuery(Strict):
    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0, help_text="`next_after` of the answer before")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=100)


def absent(article_id: int) -> Problem:
    """410 for an article that was deleted, 404 for one that never was."""
    if Tombstone.objects.filter(article_id=article_id).exists():
        return Problem(410, "article_deleted", f"Article {article_id} was deleted.", "Drop your copy.")
    return Problem(404, "not_found", f"There is no article {article_id}.", "Take ids from the lists.")


class ArticlesView(APIView):
    required_scope = "read"

    @extend_schema(
        operation_id="articles_list", parameters=[ArticlesQuery], responses={200: outputs.ArticlePageOut, **problems()}
    )
    def get(self, request: Request) -> Response:
        """Articles by filter, paged by key."""
        return Response(articles_page(query(request, ArticlesQuery)))


class ReadyArticlesView(APIView):
    required_scope = "read"

    @extend_schema(
        operation_id="articles_ready", parameters=[ReadyQuery], responses={200: outputs.ArticlePageOut, **problems()}
    )
    def get(self, request: Request) -> Response:
        """Ready articles that the consumer `rag` has not acknowledged, in the order of their changes."""
        return Response(ready_page(query(request, ReadyQuery)))


class ArticleView(APIView):
    required_scope = "read"

    @extend_schema(
        operation_id="articles_get", parameters=[ContentQuery], responses={200: outputs.ArticleDetailOut, **problems(404, 410)}
    )
    def get(self, request: Request, article_id: int) -> Response:
        """One article with metadata, files and text."""
        asked = query(request, ContentQuery)
        known = Article.objects.filter(pk=article_id).values_list("pk", flat=True)
        found = article_details(list(known), text=asked["content"] == "text")
        if not found:
            raise absent(article_id)
        return Response(found[article_id])


class RevisionsView(APIView):
    required_scope = "read"

    @extend_schema(
        operation_id="articles_revisions",
        parameters=[RevisionsQuery],
        responses={200: outputs.RevisionPageOut, **problems(404, 410)},
    )
    def get(self, request: Request, article_id: int) -> Response:
        """The versions of an article, the first included, oldest first."""
        asked = query(request, RevisionsQuery)
        if not Article.objects.filter(pk=article_id).exists():
            raise absent(article_id)
        rows = ArticleRevision.objects.filter(article_id=article_id).order_by("number")
        if "cursor" in asked:
            (last,) = decode_cursor(asked["cursor"], "number", int)
            rows = rows.filter(number__gt=last)
        text = ["content_text"] if asked["content"] == "text" else []
        found = [_revision(row) for row in rows.values(*REVISION, *text)[: asked["limit"] + 1]]
        items = found[: asked["limit"]]
        more = len(found) > len(items)
        return Response({"items": items, "next_cursor": encode_cursor("number", items[-1]["number"]) if more else None})


REVISION = ("id", "number", "title", "content_hash", "parser_version", "fetched_at", "created_at", "fields_json")


def _revision(row: dict[str, Any]) -> dict[str, Any]:
    row["revision"], row["fields"] = row.pop("id"), row.pop("fields_json")
    return row


class ChangesView(APIView):
    required_scope = "read"

    @extend_schema(operation_id="changes_list", parameters=[ChangesQuery], responses={200: outputs.ChangesOut, **problems(409)})
    def get(self, request: Request) -> Response:
        """The last change of every article after a number, deletions included, in the order in which they were committed."""
        asked = query(request, ChangesQuery)
        try:
            page = changes.changes(asked["after"], asked["limit"])
        except changes.CursorAhead as error:
            remedy = "Begin again with after=0: the database is another one or was restored."
            raise Problem(409, "cursor_ahead", str(error), remedy) from error
        items = [asdict(change) for change in page.items]
        return Response({"items": items, "next_after": page.next_after, "has_more": page.has_more})
