"""What is watched: sites, their department paths, targets and the directory of columns (seed 000, 2.1-2.3 and 2.9)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from departments.models import LocalDepartment
from govcrawler.fields import IdentityField, JSONField


class CrawlSite(models.Model):
    """One CMS site, or one site read by the rules of a YAML file."""

    class Role(models.TextChoices):
        CITY = "qingyuan_local", _("city")
        COUNTY = "county_local", _("county")
        PROVINCE = "province_ref", _("province, for reference")
        NATION = "nation_ref", _("nation, for reference")

    class Strategy(models.TextChoices):
        AUTO = "auto", _("automatic")
        HTTPX = "httpx", "httpx"
        PLAYWRIGHT = "playwright", _("browser")

    class ManagedBy(models.TextChoices):
        YAML = "yaml", _("YAML files")
        UI = "ui", _("admin pages")

    id = models.BigAutoField(primary_key=True)
    site_code = IdentityField(_("site code"), max_length=50, unique=True)
    site_name = models.CharField(_("name"), max_length=200, null=True, blank=True)
    base_url = models.CharField(_("base URL"), max_length=500, null=True, blank=True)
    site_role = models.CharField(_("role"), max_length=50, null=True, blank=True, choices=Role)
    cms_adapter = IdentityField(_("adapter"), max_length=50, null=True, blank=True)
    adapter_params_json = JSONField(_("adapter parameters"), null=True, blank=True)
    default_fetch_strategy = models.CharField(_("fetch strategy"), max_length=50, null=True, blank=True, choices=Strategy)
    strategy_override_reason = models.CharField(_("reason of the strategy"), max_length=200, null=True, blank=True)
    respect_robots = models.BooleanField(_("respect robots.txt"), default=True, db_default=True)
    verify_tls = models.BooleanField(_("check certificates"), default=True, db_default=True)
    egress_proxy = models.CharField(_("egress proxy"), max_length=500, null=True, blank=True)
    yaml_path = models.CharField(_("YAML file"), max_length=500, null=True, blank=True)
    managed_by = models.CharField(
        _("managed by"), max_length=10, choices=ManagedBy, default=ManagedBy.YAML, db_default=ManagedBy.YAML.value
    )
    enabled = models.BooleanField(_("enabled"), default=True, db_default=True)
    remark = models.CharField(_("remark"), max_length=500, null=True, blank=True)
    crawl_window_start = models.TimeField(_("window start"), null=True, blank=True, help_text=_("Beijing time"))
    crawl_window_end = models.TimeField(_("window end"), null=True, blank=True, help_text=_("Beijing time"))
    daily_max_requests = models.IntegerField(_("requests per day"), null=True, blank=True)
    weekend_enabled = models.BooleanField(_("crawl at weekends"), default=True, db_default=True)
    backoff_min_sec = models.IntegerField(_("shortest back-off, s"), null=True, blank=True)
    backoff_max_sec = models.IntegerField(_("longest back-off, s"), null=True, blank=True)
    schedule_cron = models.CharField(_("cron"), max_length=100, null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "crawl_site"
        constraints = [
            models.CheckConstraint(
                name="ck_crawl_site_adapter_xor_yaml",
                condition=(Q(cms_adapter__isnull=False) & Q(yaml_path__isnull=True))
                | (Q(cms_adapter__isnull=True) & Q(yaml_path__isnull=False)),
                violation_error_message=_("Give exactly one of adapter and YAML file."),
            ),
            models.CheckConstraint(name="ck_crawl_site_managed_by", condition=Q(managed_by__in=["yaml", "ui"])),
        ]
        verbose_name = _("site")
        verbose_name_plural = _("sites")

    def __str__(self) -> str:
        return self.site_name or self.site_code


class SiteDepartment(models.Model):
    """A department's path on a site, and the OA department it belongs to."""

    class Binding(models.TextChoices):
        PENDING = "pending", _("pending")
        MAPPED = "mapped", _("mapped")
        CITY_LEVEL = "city_level", _("city level")
        CROSS_DEPT = "cross_dept", _("several departments")
        EXTERNAL_REF = "external_ref", _("external reference")

    class DetectStatus(models.TextChoices):
        PENDING = "pending", _("pending")
        FOUND = "found", _("found")
        UNREACHABLE = "unreachable", _("unreachable")
        AMBIGUOUS = "ambiguous", _("ambiguous")

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(CrawlSite, models.CASCADE, verbose_name=_("site"), related_name="departments", db_index=False)
    dept_path = IdentityField(_("path"), max_length=100)
    local_dept = models.ForeignKey(
        LocalDepartment, models.SET_NULL, null=True, blank=True, verbose_name=_("OA department"), related_name="site_paths"
    )
    dept_binding = models.CharField(
        _("binding"), max_length=20, choices=Binding, default=Binding.PENDING, db_default=Binding.PENDING.value
    )
    dept_display_name = models.CharField(_("display name"), max_length=200, null=True, blank=True)
    detect_status = models.CharField(
        _("detection"), max_length=20, choices=DetectStatus, default=DetectStatus.PENDING, db_default=DetectStatus.PENDING.value
    )
    last_probed_at = models.DateTimeField(_("last probed"), null=True, blank=True)
    last_classify_json = JSONField(_("candidates"), null=True, blank=True)
    enabled = models.BooleanField(_("enabled"), default=True, db_default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "site_department"
        constraints = [
            models.UniqueConstraint(fields=["site", "dept_path"], name="uq_site_department_path"),
            models.CheckConstraint(
                name="ck_site_department_binding",
                condition=Q(dept_binding__in=["pending", "mapped", "city_level", "cross_dept", "external_ref"]),
            ),
            models.CheckConstraint(
                name="ck_site_department_binding_local_dept",
                condition=(Q(dept_binding="mapped") & Q(local_dept__isnull=False))
                | (~Q(dept_binding="mapped") & Q(local_dept__isnull=True)),
                violation_error_message=_("A mapped path needs an OA department, any other binding has none."),
            ),
        ]
        verbose_name = _("department path")
        verbose_name_plural = _("department paths")

    def __str__(self) -> str:
        return f"{self.dept_display_name or ''} {self.dept_path}".strip()


class CrawlTarget(models.Model):
    """One column or entry of a site that is crawled. ``backfill_completed_at``: a pass has reached the end (invariant 6)."""

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(CrawlSite, models.CASCADE, verbose_name=_("site"), related_name="targets")
    site_department = models.ForeignKey(
        SiteDepartment, models.CASCADE, null=True, blank=True, verbose_name=_("department path"), related_name="targets"
    )
    target_code = IdentityField(_("target code"), max_length=100, unique=True)
    target_name = models.CharField(_("name"), max_length=200, null=True, blank=True)
    entry_url = models.CharField(_("entry URL"), max_length=1000, null=True, blank=True)
    sample_article_url = models.CharField(_("sample article URL"), max_length=1000, null=True, blank=True)
    dept = models.ForeignKey(
        LocalDepartment, models.SET_NULL, null=True, blank=True, verbose_name=_("OA department"), related_name="targets"
    )
    parser_override_json = JSONField(_("parser overrides"), null=True, blank=True)
    channel_name = models.CharField(_("column name"), max_length=200, null=True, blank=True)
    channel_path = models.CharField(_("column path"), max_length=1000, null=True, blank=True)
    content_category = models.CharField(_("category"), max_length=100, null=True, blank=True)
    content_subcategory = models.CharField(_("subcategory"), max_length=100, null=True, blank=True)
    schedule_cron = models.CharField(_("cron"), max_length=100, null=True, blank=True)
    expected_cadence_days = models.IntegerField(_("expected cadence, days"), default=30, db_default=30)
    interval_sec = models.IntegerField(_("interval, s"), null=True, blank=True)
    interval_jitter_sec = models.IntegerField(_("jitter, s"), null=True, blank=True)
    track_checkpoint = models.BooleanField(_("resume at the last page"), default=False, db_default=False)
    enabled = models.BooleanField(_("enabled"), default=True, db_default=True)
    last_crawled_at = models.DateTimeField(_("last crawled"), null=True, blank=True, editable=False)
    last_article_time = models.DateTimeField(_("last article stored"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())
    backfill_completed_at = models.DateTimeField(_("backfill completed"), null=True, blank=True, editable=False)
    next_due_at = models.DateTimeField(_("next due"), null=True, blank=True, editable=False)

    class Meta:
        db_table = "crawl_target"
        indexes = [models.Index(fields=["enabled", "next_due_at"], name="ix_crawl_target_due")]
        verbose_name = _("target")
        verbose_name_plural = _("targets")

    def __str__(self) -> str:
        return self.target_name or self.target_code


class MasterColumn(models.Model):
    """A column found by an adapter; most are not subscribed as targets."""

    class Level(models.TextChoices):
        CITY = "city", _("city")
        COUNTY = "county", _("county")
        TOWNSHIP = "township", _("township")

    id = models.BigAutoField(primary_key=True)
    adapter_id = IdentityField(_("adapter"), max_length=50)
    site = models.ForeignKey(CrawlSite, models.CASCADE, verbose_name=_("site"), related_name="columns")
    column_id = IdentityField(_("column id"), max_length=64)
    column_name = models.CharField(_("name"), max_length=500, null=True, blank=True)
    column_path = models.CharField(_("path"), max_length=1000, null=True, blank=True)
    admin_level = models.CharField(_("level"), max_length=20, null=True, blank=True, choices=Level)
    topic_tags = JSONField(_("topics"), null=True, blank=True)
    post_count = models.IntegerField(_("articles"), null=True, blank=True)
    last_seen_at = models.DateTimeField(_("last seen"), null=True, blank=True)
    subscribed_target = models.ForeignKey(
        CrawlTarget, models.SET_NULL, null=True, blank=True, verbose_name=_("subscribed as"), related_name="columns"
    )
    active = models.BooleanField(_("active"), default=True, db_default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True, db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())

    class Meta:
        db_table = "master_column_registry"
        constraints = [models.UniqueConstraint(fields=["adapter_id", "site", "column_id"], name="uq_mcr_adapter_site_col")]
        verbose_name = _("column")
        verbose_name_plural = _("columns")

    def __str__(self) -> str:
        return self.column_path or self.column_name or self.column_id
