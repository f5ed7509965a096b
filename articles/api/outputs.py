"""What calls answer, for OpenAPI. The rows themselves come from ``rows.py``; a test holds both together."""

from __future__ import annotations

from rest_framework import serializers

from articles.models import Article, Attachment


class DepartmentOut(serializers.Serializer):
    id = serializers.IntegerField(help_text="OA id")
    name = serializers.CharField(allow_null=True)
    region = serializers.CharField(allow_null=True)


class ArticleOut(serializers.Serializer):
    id = serializers.IntegerField()
    revision = serializers.IntegerField(allow_null=True, help_text="What claims and acknowledgements speak of.")
    change_number = serializers.IntegerField(allow_null=True)
    site = serializers.CharField(help_text="site_code")
    target = serializers.CharField(allow_null=True, help_text="target_code")
    department = DepartmentOut(allow_null=True)
    native_post_id = serializers.CharField(allow_null=True)
    url = serializers.CharField()
    canonical_url = serializers.CharField(allow_null=True)
    title = serializers.CharField(allow_null=True)
    publish_time = serializers.DateTimeField(allow_null=True, help_text="UTC")
    publish_precision = serializers.ChoiceField(Article.Precision.choices)
    publish_date = serializers.DateField(allow_null=True, help_text="The date in the source's own zone.")
    source_raw = serializers.CharField(allow_null=True)
    index_no = serializers.CharField(allow_null=True)
    doc_no = serializers.CharField(allow_null=True)
    publisher = serializers.CharField(allow_null=True)
    effective_date = serializers.DateField(allow_null=True)
    is_effective = serializers.BooleanField(allow_null=True, help_text="null: the source does not say")
    expiry_date = serializers.DateField(allow_null=True)
    topic_words = serializers.CharField(allow_null=True)
    open_category = serializers.CharField(allow_null=True)
    content_category = serializers.CharField(allow_null=True)
    content_subcategory = serializers.CharField(allow_null=True)
    channel_name = serializers.CharField(allow_null=True)
    channel_path = serializers.CharField(allow_null=True)
    has_attachment = serializers.BooleanField(allow_null=True)
    status = serializers.CharField(help_text="raw (held), ready or failed")
    duplicate_of = serializers.IntegerField(allow_null=True)
    duplicate_reason = serializers.CharField(allow_null=True)
    word_count = serializers.IntegerField(allow_null=True, help_text="0: no text layer; -1: extraction failed")
    content_hash = serializers.CharField(allow_null=True)
    parser_version = serializers.CharField(allow_null=True)
    fetched_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
    exported_to_rag_at = serializers.DateTimeField(allow_null=True)
    rag_export_status = serializers.ChoiceField(Article.RagStatus.choices, allow_null=True)
    content_text = serializers.CharField(allow_null=True, required=False, help_text="Only with `content=text`.")


class AttachmentOut(serializers.Serializer):
    id = serializers.IntegerField()
    position = serializers.IntegerField()
    file_name = serializers.CharField(allow_null=True, help_text="The name the site gave it: never use it as a path.")
    file_ext = serializers.CharField(allow_null=True)
    mime = serializers.CharField(allow_null=True)
    size_bytes = serializers.IntegerField(allow_null=True)
    file_hash = serializers.CharField(allow_null=True, help_text="SHA-256")
    status = serializers.ChoiceField(Attachment.Status.choices)
    error_class = serializers.CharField(allow_null=True)
    source_url = serializers.CharField(allow_null=True)


class StandardOut(serializers.Serializer):
    standard_no = serializers.CharField(allow_null=True)
    chinese_title = serializers.CharField(allow_null=True)
    english_title = serializers.CharField(allow_null=True)
    standard_status = serializers.CharField(allow_null=True)
    ccs_codes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    ics_codes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    publish_date = serializers.DateField(allow_null=True)
    implementation_date = serializers.DateField(allow_null=True)
    competent_department = serializers.CharField(allow_null=True)
    technical_committee = serializers.CharField(allow_null=True)
    issuing_body = serializers.CharField(allow_null=True)
    standard_type = serializers.CharField(allow_null=True)


class ArticleDetailOut(ArticleOut):
    metadata = serializers.JSONField(allow_null=True)
    standard = StandardOut(allow_null=True)
    attachments = AttachmentOut(many=True)


class ArticlePageOut(serializers.Serializer):
    items = ArticleOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RevisionOut(serializers.Serializer):
    revision = serializers.IntegerField()
    number = serializers.IntegerField()
    title = serializers.CharField(allow_null=True)
    content_hash = serializers.CharField()
    parser_version = serializers.CharField(allow_null=True)
    fetched_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    fields = serializers.JSONField(allow_null=True)  # type: ignore[assignment]
    content_text = serializers.CharField(allow_null=True, required=False, help_text="Only with `content=text`.")


class RevisionPageOut(serializers.Serializer):
    items = RevisionOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ClaimedOut(serializers.Serializer):
    article_id = serializers.IntegerField()
    revision = serializers.IntegerField()
    attempt = serializers.IntegerField(help_text="After 10 without an acknowledgement the revision is parked.")
    article = ArticleDetailOut()


class ClaimOut(serializers.Serializer):
    claim = serializers.CharField(allow_null=True, help_text="null: nothing to export")
    lease_until = serializers.DateTimeField(allow_null=True)
    items = ClaimedOut(many=True)


class AckResultOut(serializers.Serializer):
    article_id = serializers.IntegerField()
    revision = serializers.IntegerField()
    code = serializers.ChoiceField(["acked", "repeat", "superseded", "not_found", "failed_recorded", "parked"])
    acked_at = serializers.DateTimeField(allow_null=True, help_text="The first time this revision was acknowledged.")
    newer_revision = serializers.IntegerField(allow_null=True)


class AckOut(serializers.Serializer):
    results = AckResultOut(many=True)


class ChangeOut(serializers.Serializer):
    number = serializers.IntegerField()
    type = serializers.ChoiceField(["upsert", "withdraw", "delete"])
    article_id = serializers.IntegerField()
    revision = serializers.IntegerField(allow_null=True)
    site = serializers.CharField()
    url = serializers.CharField()
    native_post_id = serializers.CharField(allow_null=True)
    title = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    changed_at = serializers.DateTimeField(allow_null=True)


class ChangesOut(serializers.Serializer):
    items = ChangeOut(many=True)
    next_after = serializers.IntegerField()
    has_more = serializers.BooleanField()
