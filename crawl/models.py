"""How it is fetched: jobs, requests, runs, hosts and health (seed 000, 2.8 and 2.10; seed 002 for runs)."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from govcrawler.fields import HashField, IdentityField, JSONField
from sources.models import CrawlSite, CrawlTarget


class CrawlJob(models.Model):
    """One order to crawl one target: the truth about it, whatever the task queue says (invariant 5).

    ``active_key`` is the target's code while the job is queued or running and NULL afterwards, so a target has one active job.
    ``lease_token`` fences: only its holder may write results. ``not_before`` and ``wait_reason`` say why a job waits.
    ``queue``: the workers that may take it; jobs that need a browser have workers of their own.
    """

    class Source(models.TextChoices):
        MANUAL = "manual", _("by hand")
        SCHEDULE = "schedule", _("scheduled")
        RETRY = "retry", _("retry")

    class Queue(models.TextChoices):
        CRAWL = "crawl", _("requests")
        BROWSER = "browser", _("browser")

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELED = "canceled", _("canceled")

    job_id = IdentityField(_("job"), max_length=32, primary_key=True)
    host = models.CharField(_("host"), max_length=255)
    site_code = IdentityField(_("site code"), max_length=64)
    target_code = IdentityField(_("target code"), max_length=128)
    source = models.CharField(_("source"), max_length=20, choices=Source)
    status = models.CharField(_("status"), max_length=20, choices=Status)
    force = models.BooleanField(_("force"), default=False, db_default=False)
    stop_requested = models.BooleanField(_("stop requested"), default=False, db_default=False)
    attempt_count = models.IntegerField(_("attempts"), default=0, db_default=0)
    last_completed_page = models.IntegerField(_("completed page"), default=0, db_default=0)
    current_page = models.IntegerField(_("current page"), default=0, db_default=0)
    enqueued_at = models.DateTimeField(_("enqueued"), auto_now_add=True, db_default=Now())
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    error_msg = models.TextField(_("error"), null=True, blank=True)
    result_json = JSONField(_("result"), null=True, blank=True)
    active_key = IdentityField(_("active key"), max_length=128, null=True, blank=True)
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    wait_reason = models.CharField(_("waits because"), max_length=200, null=True, blank=True)
    heartbeat_at = models.DateTimeField(_("heartbeat"), null=True, blank=True)
    lease_token = IdentityField(_("lease"), max_length=32, null=True, blank=True)
    cursor = models.TextField(_("cursor"), null=True, blank=True)
    scheduled_for = models.DateTimeField(_("scheduled for"), null=True, blank=True)
    run_id = models.BigIntegerField(_("run"), null=True, blank=True)
    queue = IdentityField(_("queue"), max_length=16, choices=Queue, default=Queue.CRAWL, db_default="crawl")

    class Meta:
        db_table = "crawl_job"
        constraints = [
            models.UniqueConstraint(fields=["active_key"], name="uq_crawl_job_active"),
            models.UniqueConstraint(fields=["target_code", "scheduled_for"], name="uq_crawl_job_scheduled"),
        ]
        indexes = [
            models.Index(fields=["host"], name="ix_crawl_job_host"),
            models.Index(fields=["site_code"], name="ix_crawl_job_site_code"),
            models.Index(fields=["target_code"], name="ix_crawl_job_target_code"),
            models.Index(fields=["status"], name="ix_crawl_job_status"),
            models.Index(fields=["status", "enqueued_at"], name="ix_crawl_job_status_enqueued"),
            models.Index(fields=["enqueued_at", "job_id"], name="ix_crawl_job_enqueued"),
        ]
        verbose_name = _("job")
        verbose_name_plural = _("jobs")

    def __str__(self) -> str:
        return f"{self.target_code} {self.job_id}"


class CrawlLog(models.Model):
    """One attempt to fetch a list page, a detail page, a file or robots.txt."""

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(
        CrawlSite, models.SET_NULL, null=True, blank=True, verbose_name=_("site"), related_name="+", db_index=False
    )
    target = models.ForeignKey(
        CrawlTarget, models.SET_NULL, null=True, blank=True, verbose_name=_("target"), related_name="+", db_index=False
    )
    article_url = models.TextField(_("URL"), null=True, blank=True)
    strategy = models.CharField(_("strategy"), max_length=50, null=True, blank=True)
    http_status = models.IntegerField(_("HTTP status"), null=True, blank=True)
    duration_ms = models.IntegerField(_("duration, ms"), null=True, blank=True)
    success = models.BooleanField(_("success"))
    error_msg = models.TextField(_("error"), null=True, blank=True)
    occurred_at = models.DateTimeField(_("at"), auto_now_add=True, db_default=Now())

    class Meta:
        db_table = "crawl_log"
        indexes = [
            models.Index(fields=["site", "occurred_at"], name="ix_crawl_log_site_occurred"),
            models.Index(fields=["target", "occurred_at"], name="ix_crawl_log_target_occurred"),
        ]
        verbose_name = _("request")
        verbose_name_plural = _("requests")

    def __str__(self) -> str:
        return self.article_url or f"#{self.pk}"


class CrawlHost(models.Model):
    """One web host: who works on it, when it may be asked next, and what its robots.txt said.

    All times compare with the database's clock. ``lease_*``: the job that works on the host; ``slot_*``: a single request by
    somebody else (a redirect, a file on another host).
    """

    host = IdentityField(_("host"), max_length=255, primary_key=True)
    lease_token = IdentityField(_("lease"), max_length=32, null=True, blank=True)
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    lease_job_id = IdentityField(_("job"), max_length=32, null=True, blank=True)
    slot_token = IdentityField(_("request slot"), max_length=32, null=True, blank=True)
    slot_until = models.DateTimeField(_("request slot until"), null=True, blank=True)
    slot_granted = models.BooleanField(_("request slot granted"), default=False, db_default=False)
    next_allowed_at = models.DateTimeField(_("next request"), null=True, blank=True)
    backoff_until = models.DateTimeField(_("backs off until"), null=True, blank=True)
    backoff_reason = models.CharField(_("backs off because"), max_length=200, null=True, blank=True)
    consecutive_failures = models.IntegerField(_("failures in a row"), default=0, db_default=0)
    robots_status = models.IntegerField(_("robots.txt status"), null=True, blank=True)
    robots_body = models.TextField(_("robots.txt"), null=True, blank=True)
    robots_fetched_at = models.DateTimeField(_("robots.txt fetched"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())
    last_request_at = models.DateTimeField(_("last request"), null=True, blank=True)

    class Meta:
        db_table = "crawl_host"
        verbose_name = _("host")
        verbose_name_plural = _("hosts")

    def __str__(self) -> str:
        return self.host


class CrawlCluster(models.Model):
    """A running worker command: its heartbeat feeds ``/readyz``, its slices stop at the next request once ``stop`` is set."""

    cluster_id = IdentityField(_("cluster"), max_length=32, primary_key=True)
    hostname = models.CharField(_("machine"), max_length=255)
    pid = models.IntegerField(_("process"))
    stop = models.BooleanField(_("stop requested"), default=False, db_default=False)
    started_at = models.DateTimeField(_("started"), auto_now_add=True, db_default=Now())
    heartbeat_at = models.DateTimeField(_("heartbeat"), null=True, blank=True)
    queue = IdentityField(_("queue"), max_length=16, choices=CrawlJob.Queue, default=CrawlJob.Queue.CRAWL, db_default="crawl")

    class Meta:
        db_table = "crawl_cluster"
        verbose_name = _("worker")
        verbose_name_plural = _("workers")

    def __str__(self) -> str:
        return f"{self.hostname}:{self.pid}"


class CrawlSiteDay(models.Model):
    """Requests made for a site on a day of Asia/Shanghai, on any host: what the daily cap counts."""

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(CrawlSite, models.CASCADE, verbose_name=_("site"), related_name="days", db_index=False)
    day = models.DateField(_("day"))
    requests = models.IntegerField(_("requests"), default=0, db_default=0)

    class Meta:
        db_table = "crawl_site_day"
        constraints = [models.UniqueConstraint(fields=["site", "day"], name="uq_crawl_site_day")]
        verbose_name = _("requests of a day")
        verbose_name_plural = _("requests by day")

    def __str__(self) -> str:
        return f"{self.day}"


class CrawlHostDay(models.Model):
    """The politeness ledger: what was asked of a host on a day of Asia/Shanghai, to be shown to its webmaster.

    Gaps are milliseconds from the end of one answer to the start of the next request on the host, by whatever worker; those of
    an idle night count towards the longest. ``unanswered``: requests that ended without a status.
    """

    id = models.BigAutoField(primary_key=True)
    host = IdentityField(_("host"), max_length=255)
    day = models.DateField(_("day"))
    requests = models.IntegerField(_("requests"), default=0, db_default=0)
    bytes = models.BigIntegerField(_("bytes"), default=0, db_default=0)
    status_2xx = models.IntegerField("2xx", default=0, db_default=0)
    status_3xx = models.IntegerField("3xx", default=0, db_default=0)
    status_4xx = models.IntegerField("4xx", default=0, db_default=0)
    status_5xx = models.IntegerField("5xx", default=0, db_default=0)
    unanswered = models.IntegerField(_("without answer"), default=0, db_default=0)
    robots_refusals = models.IntegerField(_("refused by robots.txt"), default=0, db_default=0)
    shortest_gap_ms = models.BigIntegerField(_("shortest gap, ms"), null=True, blank=True)
    longest_gap_ms = models.BigIntegerField(_("longest gap, ms"), null=True, blank=True)

    class Meta:
        db_table = "crawl_host_day"
        constraints = [models.UniqueConstraint(fields=["host", "day"], name="uq_crawl_host_day")]
        indexes = [models.Index(fields=["day", "host"], name="ix_crawl_host_day_day")]
        verbose_name = _("politeness ledger entry")
        verbose_name_plural = _("politeness ledger")

    def __str__(self) -> str:
        return f"{self.host} {self.day}"


class CrawlRun(models.Model):
    """The receipt of one job attempt: what the source declared, what was seen, and what became of each row.

    Written when the attempt starts, final when ``finished_at`` is set. ``discovered`` equals the sum of inserted, updated,
    known, duplicate, skipped and failed; a run whose sums do not match is not ``succeeded``.
    """

    class Status(models.TextChoices):
        STARTED = "started", _("started")
        SUCCEEDED = "succeeded", _("succeeded")
        PARTIAL = "partial", _("partly succeeded")
        FAILED = "failed", _("failed")
        CANCELED = "canceled", _("canceled")

    id = models.BigAutoField(primary_key=True)
    job_id = IdentityField(_("job"), max_length=32, null=True, blank=True)
    site = models.ForeignKey(CrawlSite, models.SET_NULL, null=True, blank=True, verbose_name=_("site"), related_name="runs")
    target = models.ForeignKey(
        CrawlTarget, models.SET_NULL, null=True, blank=True, verbose_name=_("target"), related_name="runs", db_index=False
    )
    site_code = IdentityField(_("site code"), max_length=64)
    target_code = IdentityField(_("target code"), max_length=128)
    scope = models.CharField(_("scope"), max_length=20)
    status = models.CharField(_("status"), max_length=20, choices=Status)
    started_at = models.DateTimeField(_("started"), auto_now_add=True, db_default=Now())
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    declared_total = models.IntegerField(_("declared articles"), null=True, blank=True)
    declared_pages = models.IntegerField(_("declared pages"), null=True, blank=True)
    pages = models.IntegerField(_("pages"), default=0, db_default=0)
    requests = models.IntegerField(_("requests"), default=0, db_default=0)
    bytes = models.BigIntegerField(_("bytes"), default=0, db_default=0)
    discovered = models.IntegerField(_("seen"), default=0, db_default=0)
    fetched = models.IntegerField(_("fetched"), default=0, db_default=0)
    inserted = models.IntegerField(_("inserted"), default=0, db_default=0)
    updated = models.IntegerField(_("changed"), default=0, db_default=0)
    known = models.IntegerField(_("known"), default=0, db_default=0)
    duplicate = models.IntegerField(_("duplicate"), default=0, db_default=0)
    skipped = models.IntegerField(_("skipped"), default=0, db_default=0)
    failed = models.IntegerField(_("failed"), default=0, db_default=0)
    metrics_json = JSONField(_("metrics"), null=True, blank=True)
    warnings_json = JSONField(_("warnings"), null=True, blank=True)
    errors_json = JSONField(_("errors"), null=True, blank=True)

    class Meta:
        db_table = "crawl_run"
        indexes = [
            models.Index(fields=["target", "started_at"], name="ix_crawl_run_target_started"),
            models.Index(fields=["job_id"], name="ix_crawl_run_job"),
            models.Index(fields=["started_at"], name="ix_crawl_run_started"),
        ]
        verbose_name = _("run")
        verbose_name_plural = _("runs")

    def __str__(self) -> str:
        return f"{self.target_code} #{self.pk}"


class CrawlFailure(models.Model):
    """A row of a list whose article could not be had: retried by later runs up to a limit, and listed."""

    id = models.BigAutoField(primary_key=True)
    target = models.ForeignKey(CrawlTarget, models.CASCADE, verbose_name=_("target"), related_name="failures", db_index=False)
    url = models.TextField(_("URL"))
    url_hash = HashField(_("URL hash"))
    ref_json = JSONField(_("list row"), null=True, blank=True)
    error_class = models.CharField(_("error"), max_length=32)
    error_msg = models.CharField(_("message"), max_length=500)
    attempts = models.IntegerField(_("attempts"), default=1, db_default=1)
    first_failed_at = models.DateTimeField(_("first failed"), auto_now_add=True, db_default=Now())
    last_failed_at = models.DateTimeField(_("last failed"), auto_now=True, db_default=Now())
    next_retry_at = models.DateTimeField(_("next try"), null=True, blank=True)

    class Meta:
        db_table = "crawl_failure"
        constraints = [models.UniqueConstraint(fields=["target", "url_hash"], name="uq_crawl_failure_target_url")]
        verbose_name = _("failed article")
        verbose_name_plural = _("failed articles")

    def __str__(self) -> str:
        return self.url


class FieldCoverage(models.Model):
    """How many of a run's saved articles had each field: a drop against the target's own past is a broken parser.

    Kept longer than runs, so ``run_id`` is no foreign key. ``body_chars`` is the sum over the articles.
    """

    id = models.BigAutoField(primary_key=True)
    target = models.ForeignKey(CrawlTarget, models.CASCADE, verbose_name=_("target"), related_name="+", db_index=False)
    run_id = models.BigIntegerField(_("run"), unique=True)
    recorded_at = models.DateTimeField(_("at"), auto_now_add=True, db_default=Now())
    articles = models.IntegerField(_("articles"), default=0, db_default=0)
    with_title = models.IntegerField(_("with title"), default=0, db_default=0)
    with_date = models.IntegerField(_("with date"), default=0, db_default=0)
    with_index_no = models.IntegerField(_("with index number"), default=0, db_default=0)
    with_doc_no = models.IntegerField(_("with document number"), default=0, db_default=0)
    with_publisher = models.IntegerField(_("with publisher"), default=0, db_default=0)
    with_body = models.IntegerField(_("with text"), default=0, db_default=0)
    body_chars = models.BigIntegerField(_("characters of text"), default=0, db_default=0)

    class Meta:
        db_table = "crawl_field_coverage"
        indexes = [models.Index(fields=["target", "recorded_at"], name="ix_crawl_field_coverage_target")]
        verbose_name = _("field coverage")
        verbose_name_plural = _("field coverage")

    def __str__(self) -> str:
        return f"#{self.run_id}"


class Alarm(models.Model):
    """Something a person must look at. ``open_key`` is its kind and subject until it is closed and NULL afterwards, so the
    same trouble has one open row, counted in ``occurrences``, however often it is met."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        ACKNOWLEDGED = "acknowledged", _("acknowledged")
        CLOSED = "closed", _("closed")

    class Severity(models.TextChoices):
        WARNING = "warning", _("warning")
        CRITICAL = "critical", _("critical")

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(_("kind"), max_length=40)
    subject = models.CharField(_("subject"), max_length=255)
    open_key = HashField(_("open key"), null=True, blank=True, unique=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.OPEN, db_default=Status.OPEN.value)
    severity = models.CharField(_("severity"), max_length=20, choices=Severity)
    message = models.CharField(_("message"), max_length=500)
    evidence_json = JSONField(_("evidence"), null=True, blank=True)
    occurrences = models.IntegerField(_("met"), default=1, db_default=1)
    first_seen_at = models.DateTimeField(_("first met"), auto_now_add=True, db_default=Now())
    last_seen_at = models.DateTimeField(_("last met"), auto_now_add=True, db_default=Now())
    acknowledged_at = models.DateTimeField(_("acknowledged at"), null=True, blank=True)
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=150, null=True, blank=True)
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    closed_by = models.CharField(_("closed by"), max_length=150, null=True, blank=True)
    notified_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    notify_attempts = models.IntegerField(_("tries to send"), default=0, db_default=0)
    notify_error = models.CharField(_("not sent because"), max_length=500, null=True, blank=True)
    next_notify_at = models.DateTimeField(_("next try to send"), null=True, blank=True)

    class Meta:
        db_table = "crawl_alarm"
        indexes = [
            models.Index(fields=["status", "last_seen_at"], name="ix_crawl_alarm_status"),
            models.Index(fields=["next_notify_at"], name="ix_crawl_alarm_notify"),
        ]
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class SourceHealth(models.Model):
    """State of a target as its runs tell it: a projection, rebuilt from ``crawl_run`` at any time (seed 002).

    ``state`` with its ``evidence_json`` is the judgement at ``judged_at``; the other columns are facts.
    """

    class State(models.TextChoices):
        HEALTHY = "healthy", _("healthy")
        QUIET = "quiet", _("quiet")
        LATE = "late", _("late")
        BROKEN = "broken", _("broken")
        NO_HISTORY = "no_history", _("not enough history")

    target = models.OneToOneField(CrawlTarget, models.CASCADE, primary_key=True, related_name="health")
    last_run_id = models.BigIntegerField(_("last run"), null=True, blank=True)
    last_success_at = models.DateTimeField(_("last success"), null=True, blank=True)
    last_failure_at = models.DateTimeField(_("last failure"), null=True, blank=True)
    last_inserted_at = models.DateTimeField(_("last new article"), null=True, blank=True)
    consecutive_failures = models.IntegerField(_("failures in a row"), default=0, db_default=0)
    runs_7d = models.IntegerField(_("runs, 7 days"), default=0, db_default=0)
    success_rate_7d = models.FloatField(_("success rate, 7 days"), null=True, blank=True)
    mean_duration_sec = models.FloatField(_("mean duration, s"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated"), auto_now=True, db_default=Now())
    runs_24h = models.IntegerField(_("runs, 24 hours"), default=0, db_default=0)
    success_rate_24h = models.FloatField(_("success rate, 24 hours"), null=True, blank=True)
    requests_7d = models.IntegerField(_("requests, 7 days"), default=0, db_default=0)
    failed_requests_7d = models.IntegerField(_("failed requests, 7 days"), default=0, db_default=0)
    state = models.CharField(
        _("state"), max_length=20, choices=State, default=State.NO_HISTORY, db_default=State.NO_HISTORY.value
    )
    state_since = models.DateTimeField(_("since"), null=True, blank=True)
    evidence_json = JSONField(_("evidence"), null=True, blank=True)
    judged_at = models.DateTimeField(_("judged at"), null=True, blank=True)

    class Meta:
        db_table = "source_health"
        verbose_name = _("source health")
        verbose_name_plural = _("source health")

    def __str__(self) -> str:
        return str(self.target)
