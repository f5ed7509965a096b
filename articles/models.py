"""What was found: articles, their versions, files and standard metadata (seed 000, 2.5-2.7), deletions and consumers' state."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from departments.models import LocalDepartment
from govcrawler.fields import HashField, IdentityField, JSONField, SeedIndex
from sources.models import CrawlSite, CrawlTarget


class DeleteRefused(Exception):
    """Articles go only through ``articles.changes.delete``, which leaves a tombstone in the same transaction."""


class ArticleQuerySet(models.QuerySet["Article"]):
    def delete(self) -> Any:
        raise DeleteRefused("delete articles with articles.changes.delete(): it leaves the tombstone that consumers need")


class Article(models.Model):
    """One article, the first table that RAG reads. Bodies are in ``ArticleContent``, versions in ``ArticleRevision``.

    ``raw``: bytes stored, not parsed or held; ``ready``: title and a body or a readable main file, every file in a final state;
    ``failed``: the bytes could not be parsed. ``change_seq`` grows in commit order and is never set back to NULL.
    """

    class Status(models.TextChoices):
        RAW = "raw", _("held")
        READY = "ready", _("ready")
        FAILED = "failed", _("failed")

    class RagStatus(models.TextChoices):
        PENDING = "pending", _("pending")
        EXPORTING = "exporting", _("exporting")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    class Precision(models.TextChoices):
        NONE = "none", _("none")
        YEAR = "year", _("year")
        MONTH = "month", _("month")
        DAY = "day", _("day")
        MINUTE = "minute", _("minute")
        SECOND = "second", _("second")

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(CrawlSite, models.RESTRICT, verbose_name=_("site"), related_name="articles", db_index=False)
    target = models.ForeignKey(
        CrawlTarget, models.SET_NULL, null=True, blank=True, verbose_name=_("target"), related_name="articles", db_index=False
    )
    dept = models.ForeignKey(
        LocalDepartment, models.SET_NULL, null=True, blank=True, verbose_name=_("OA department"), related_name="articles"
    )
    native_post_id = IdentityField(_("source's id"), max_length=64, null=True, blank=True)
    url = models.TextField(_("URL"))
    url_hash = HashField(_("URL hash"))
    title = models.TextField(_("title"), null=True, blank=True)
    publish_time = models.DateTimeField(_("published"), null=True, blank=True)
    source_raw = models.CharField(_("source line"), max_length=500, null=True, blank=True)

    index_no = models.CharField(_("index number"), max_length=200, null=True, blank=True)
    doc_no = models.CharField(_("document number"), max_length=200, null=True, blank=True)
    publisher = models.CharField(_("publisher"), max_length=500, null=True, blank=True)
    publish_date = models.DateField(_("publication date"), null=True, blank=True)
    effective_date = models.DateField(_("effective from"), null=True, blank=True)
    is_effective = models.BooleanField(_("in force"), null=True, blank=True)
    expiry_date = models.DateField(_("expired on"), null=True, blank=True)
    topic_words = models.CharField(_("topic words"), max_length=500, null=True, blank=True)
    open_category = models.CharField(_("source's category"), max_length=200, null=True, blank=True)
    content_category = models.CharField(_("category"), max_length=100, null=True, blank=True)
    content_subcategory = models.CharField(_("subcategory"), max_length=100, null=True, blank=True)

    channel_name = models.CharField(_("column name"), max_length=200, null=True, blank=True)
    channel_path = models.CharField(_("column path"), max_length=1000, null=True, blank=True)
    metadata_json = JSONField(_("metadata"), null=True, blank=True)
    raw_html_path = models.TextField(_("raw page"), null=True, blank=True)
    text_path = models.TextField(_("text file"), null=True, blank=True)
    has_attachment = models.BooleanField(_("has files"), null=True, blank=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, null=True, blank=True)
    fetch_strategy = models.CharField(_("fetch strategy"), max_length=50, null=True, blank=True)
    fetched_at = models.DateTimeField(_("fetched"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), null=True, blank=True, auto_now_add=True)
    updated_at = models.DateTimeField(_("updated"), null=True, blank=True, auto_now=True)

    exported_to_rag_at = models.DateTimeField(_("acknowledged by RAG"), null=True, blank=True)
    rag_export_status = models.CharField(_("RAG state"), max_length=20, choices=RagStatus, null=True, blank=True)
    rag_export_started_at = models.DateTimeField(_("RAG export started"), null=True, blank=True)
    rag_export_finished_at = models.DateTimeField(_("RAG export finished"), null=True, blank=True)
    rag_export_error = models.TextField(_("RAG error"), null=True, blank=True)
    rag_export_task_ids = JSONField(_("RAG tasks"), null=True, blank=True)

    canonical_url = models.TextField(_("canonical URL"), null=True, blank=True)
    url_rule = models.IntegerField(_("URL rule version"), null=True, blank=True)
    publish_precision = models.CharField(
        _("precision of the time"), max_length=8, choices=Precision, default=Precision.NONE, db_default=Precision.NONE.value
    )
    content_hash = HashField(_("content hash"), null=True, blank=True)
    title_time_hash = HashField(_("title and date hash"), null=True, blank=True)
    duplicate_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, verbose_name=_("duplicate of"), related_name="duplicates"
    )
    duplicate_reason = models.CharField(_("why a duplicate"), max_length=40, null=True, blank=True)
    parser_version = models.CharField(_("parser version"), max_length=64, null=True, blank=True)
    word_count = models.IntegerField(
        _("characters"), null=True, blank=True, help_text=_("0: no text layer; -1: extraction failed")
    )
    change_seq = models.BigIntegerField(_("change number"), null=True, blank=True, unique=True)
    current_revision_id = models.BigIntegerField(_("current revision"), null=True, blank=True)
    markdown_path = models.TextField(_("Markdown file"), null=True, blank=True)
    last_checked_at = models.DateTimeField(_("last checked"), null=True, blank=True)

    objects = ArticleQuerySet.as_manager()

    class Meta:
        db_table = "article"
        constraints = [
            models.UniqueConstraint(fields=["url_hash"], name="uq_article_url_hash"),
            models.UniqueConstraint(fields=["site", "native_post_id"], name="uq_article_site_native"),
            models.CheckConstraint(name="ck_article_status", condition=Q(status__in=["raw", "ready", "failed"])),
        ]
        indexes = [
            models.Index(fields=["site", "publish_time"], name="ix_article_site_pub"),
            models.Index(fields=["target", "publish_time"], name="ix_article_target_pub"),
            models.Index(fields=["exported_to_rag_at"], name="ix_article_exported"),
            models.Index(fields=["rag_export_status"], name="ix_article_rag_export_status"),
            models.Index(fields=["status"], name="ix_article_status"),
            models.Index(fields=["is_effective"], name="ix_article_is_effective"),
            models.Index(fields=["expiry_date"], name="ix_article_expiry_date"),
            models.Index(fields=["status", "exported_to_rag_at", "change_seq"], name="ix_article_ready_exported"),
            models.Index(fields=["status", "rag_export_status", "id"], name="ix_article_ready_rag"),
            models.Index(fields=["publish_time", "id"], name="ix_article_pub"),
            models.Index(fields=["doc_no"], name="ix_article_doc_no"),
            models.Index(fields=["index_no"], name="ix_article_index_no"),
        ]
        verbose_name = _("article")
        verbose_name_plural = _("articles")

    def __str__(self) -> str:
        return self.title or self.url

    @property
    def content_text(self) -> str | None:
        """The plain text, from the side table (design D7: bodies out of the listing table)."""
        content: ArticleContent | None = getattr(self, "content", None)
        return content.content_text if content else None

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        raise DeleteRefused("delete articles with articles.changes.delete(): it leaves the tombstone that consumers need")


class ArticleContent(models.Model):
    """Body of an article, 1:1. ``content_html`` is the source's fragment, unsanitised: never show it as it is."""

    article = models.OneToOneField(Article, models.CASCADE, primary_key=True, related_name="content")
    content_text = models.TextField(_("text"), null=True, blank=True)
    content_html = models.TextField(_("HTML"), null=True, blank=True)

    class Meta:
        db_table = "article_content"
        verbose_name = _("body")
        verbose_name_plural = _("bodies")

    def __str__(self) -> str:
        return f"#{self.article_id}"


class ArticleListing(models.Model):
    """A further target that lists the article (``article.target`` is the first), or a list row with another URL.

    ``row_hash`` is the hash of the row's URL where it differs: a forwarder in the list leads to the article without a fetch.
    """

    id = models.BigAutoField(primary_key=True)
    article = models.ForeignKey(Article, models.CASCADE, related_name="listings", db_index=False)
    target = models.ForeignKey(CrawlTarget, models.CASCADE, related_name="listings")
    row_hash = HashField(_("row URL hash"), null=True, blank=True)
    first_seen_at = models.DateTimeField(_("first seen"), auto_now_add=True, db_default=Now())

    class Meta:
        db_table = "article_listing"
        constraints = [models.UniqueConstraint(fields=["article", "target"], name="uq_article_listing")]
        indexes = [models.Index(fields=["row_hash"], name="ix_article_listing_row")]
        verbose_name = _("listing")
        verbose_name_plural = _("listings")

    def __str__(self) -> str:
        return f"#{self.article_id}"


class ArticleRevision(models.Model):
    """A version of title, body, metadata and raw responses, the first included. Its id is what consumers claim and ack."""

    id = models.BigAutoField(primary_key=True)
    article = models.ForeignKey(Article, models.CASCADE, related_name="revisions", db_index=False)
    number = models.IntegerField(_("number"))
    content_hash = HashField(_("content hash"))
    title = models.TextField(_("title"), null=True, blank=True)
    content_text = models.TextField(_("text"), null=True, blank=True)
    content_html = models.TextField(_("HTML"), null=True, blank=True)
    fields_json = JSONField(_("fields"), null=True, blank=True)
    raw_manifest = JSONField(_("responses"), null=True, blank=True)
    raw_html_path = models.TextField(_("raw page"), null=True, blank=True)
    parser_version = models.CharField(_("parser version"), max_length=64, null=True, blank=True)
    fetched_at = models.DateTimeField(_("fetched"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())

    class Meta:
        db_table = "article_revision"
        constraints = [models.UniqueConstraint(fields=["article", "number"], name="uq_article_revision_number")]
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")

    def __str__(self) -> str:
        return f"{self.article_id}#{self.number}"


class ArticleStandardMeta(models.Model):
    """Structured metadata of a standard (seed 000, 2.6)."""

    id = models.BigAutoField(primary_key=True)
    article = models.ForeignKey(Article, models.CASCADE, related_name="standard_meta", db_index=False)
    standard_no = models.CharField(_("standard number"), max_length=100, null=True, blank=True)
    chinese_title = models.TextField(_("Chinese title"), null=True, blank=True)
    english_title = models.TextField(_("English title"), null=True, blank=True)
    standard_status = models.CharField(_("status of the standard"), max_length=100, null=True, blank=True)
    ccs_codes = JSONField(_("CCS codes"), null=True, blank=True)
    ics_codes = JSONField(_("ICS codes"), null=True, blank=True)
    publish_date = models.DateField(_("publication date"), null=True, blank=True)
    implementation_date = models.DateField(_("implementation date"), null=True, blank=True)
    competent_department = models.CharField(_("competent department"), max_length=500, null=True, blank=True)
    technical_committee = models.CharField(_("technical committee"), max_length=500, null=True, blank=True)
    issuing_body = models.CharField(_("issuing body"), max_length=500, null=True, blank=True)
    standard_type = models.CharField(_("type of standard"), max_length=100, null=True, blank=True)
    raw_meta_json = JSONField(_("source's metadata"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "article_standard_meta"
        constraints = [models.UniqueConstraint(fields=["article"], name="uq_article_standard_meta_article")]
        indexes = [
            models.Index(fields=["standard_no"], name="ix_standard_meta_standard_no"),
            models.Index(fields=["publish_date"], name="ix_standard_meta_publish_date"),
            SeedIndex(fields=["implementation_date"], name="ix_standard_meta_implementation_date"),
        ]
        verbose_name = _("standard metadata")
        verbose_name_plural = _("standard metadata")

    def __str__(self) -> str:
        return self.standard_no or str(self.article_id)


class Attachment(models.Model):
    """A file of an article. The stored key comes from the content hash, never from the site's name for it."""

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        DONE = "done", _("done")
        SKIPPED = "skipped", _("skipped")
        FAILED = "failed", _("failed")

    id = models.BigAutoField(primary_key=True)
    article = models.ForeignKey(Article, models.CASCADE, verbose_name=_("article"), related_name="attachments", db_index=False)
    file_name = models.TextField(_("file name"), null=True, blank=True)
    file_ext = models.CharField(_("extension"), max_length=20, null=True, blank=True)
    size_bytes = models.BigIntegerField(_("size, bytes"), null=True, blank=True)
    file_path = models.TextField(_("stored file"), null=True, blank=True)
    file_hash = HashField(_("SHA-256"), null=True, blank=True)
    downloaded_at = models.DateTimeField(_("downloaded"), null=True, blank=True, db_default=Now())
    source_url = models.TextField(_("URL"), null=True, blank=True)
    url_hash = HashField(_("URL hash"), null=True, blank=True)
    position = models.IntegerField(_("position"), default=0, db_default=0)
    mime = models.CharField(_("type"), max_length=127, null=True, blank=True)
    status = models.CharField(
        _("status"), max_length=20, choices=Status, default=Status.PENDING, db_default=Status.PENDING.value
    )
    error_class = models.CharField(_("error"), max_length=32, null=True, blank=True)
    attempts = models.IntegerField(_("attempts"), default=0, db_default=0)
    next_retry_at = models.DateTimeField(_("next try"), null=True, blank=True)
    text_path = models.TextField(_("text file"), null=True, blank=True)
    word_count = models.IntegerField(_("characters"), null=True, blank=True)
    parser_version = models.CharField(_("parser version"), max_length=64, null=True, blank=True)

    class Meta:
        db_table = "attachment"
        constraints = [models.UniqueConstraint(fields=["article", "url_hash"], name="uq_attachment_article_url")]
        indexes = [
            models.Index(fields=["file_hash"], name="ix_attachment_file_hash"),
            models.Index(fields=["status", "next_retry_at"], name="ix_attachment_retry"),
        ]
        verbose_name = _("file")
        verbose_name_plural = _("files")

    def __str__(self) -> str:
        return self.file_name or self.source_url or str(self.pk)


class Tombstone(models.Model):
    """What stays of a deleted article: enough for the feed, the content store and every remote copy to follow (invariant 8)."""

    id = models.BigAutoField(primary_key=True)
    article_id = models.BigIntegerField(_("article"), unique=True)
    site_code = IdentityField(_("site code"), max_length=50)
    native_post_id = IdentityField(_("source's id"), max_length=64, null=True, blank=True)
    url = models.TextField(_("URL"))
    url_hash = HashField(_("URL hash"), db_index=True)
    title = models.TextField(_("title"), null=True, blank=True)
    revision_id = models.BigIntegerField(_("last revision"), null=True, blank=True)
    paths_json = JSONField(_("stored files"), default=list)
    change_seq = models.BigIntegerField(_("change number"), unique=True)
    reason = models.CharField(_("reason"), max_length=40)
    deleted_by = models.CharField(_("deleted by"), max_length=64, null=True, blank=True)
    created_at = models.DateTimeField(_("deleted"), auto_now_add=True, db_default=Now())

    class Meta:
        db_table = "tombstone"
        verbose_name = _("deletion")
        verbose_name_plural = _("deletions")

    def __str__(self) -> str:
        return f"{self.article_id} ({self.reason})"


class ChangeCounter(models.Model):
    """One row, id 1: locked first in each write transaction, so change numbers grow in commit order."""

    id = models.IntegerField(primary_key=True)
    value = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        db_table = "change_counter"


class ConsumerCursor(models.Model):
    """How far a consumer has claimed in ``article.change_seq``."""

    consumer = IdentityField(_("consumer"), max_length=64, primary_key=True)
    position = models.BigIntegerField(_("claimed up to"), default=0, db_default=0)
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "consumer_cursor"
        verbose_name = _("consumer")
        verbose_name_plural = _("consumers")

    def __str__(self) -> str:
        return self.consumer


class ConsumerState(models.Model):
    """What a consumer has claimed, acknowledged or failed to take, by article and revision (review of the design, 3.3)."""

    class State(models.TextChoices):
        EXPORTING = "exporting", _("exporting")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        PARKED = "parked", _("parked")

    id = models.BigAutoField(primary_key=True)
    consumer = IdentityField(_("consumer"), max_length=64)
    article = models.ForeignKey(Article, models.CASCADE, related_name="consumer_states")
    revision_id = models.BigIntegerField(_("revision"))
    state = models.CharField(_("state"), max_length=20, choices=State)
    token = IdentityField(_("claim"), max_length=32, null=True, blank=True)
    lease_until = models.DateTimeField(_("claimed until"), null=True, blank=True)
    attempts = models.IntegerField(_("attempts"), default=0, db_default=0)
    retry_at = models.DateTimeField(_("next try"), null=True, blank=True)
    error = models.TextField(_("error"), null=True, blank=True)
    task_ids = JSONField(_("consumer's tasks"), null=True, blank=True)
    acked_revision_id = models.BigIntegerField(_("acknowledged revision"), null=True, blank=True)
    acked_at = models.DateTimeField(_("acknowledged"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "consumer_state"
        constraints = [models.UniqueConstraint(fields=["consumer", "article"], name="uq_consumer_state_article")]
        indexes = [
            models.Index(fields=["consumer", "state", "retry_at", "id"], name="ix_consumer_state_due"),
            models.Index(fields=["token"], name="ix_consumer_state_token"),
        ]
        verbose_name = _("consumer state")
        verbose_name_plural = _("consumer states")

    def __str__(self) -> str:
        return f"{self.consumer} #{self.article_id}"
