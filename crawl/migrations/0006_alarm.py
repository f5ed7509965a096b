import django.db.models.functions.datetime
import govcrawler.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawl", "0005_field_coverage"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40, verbose_name="kind")),
                ("subject", models.CharField(max_length=255, verbose_name="subject")),
                ("open_key", govcrawler.fields.HashField(blank=True, null=True, unique=True, verbose_name="open key")),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "open"), ("acknowledged", "acknowledged"), ("closed", "closed")],
                        db_default="open",
                        default="open",
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                (
                    "severity",
                    models.CharField(
                        choices=[("warning", "warning"), ("critical", "critical")], max_length=20, verbose_name="severity"
                    ),
                ),
                ("message", models.CharField(max_length=500, verbose_name="message")),
                ("evidence_json", govcrawler.fields.JSONField(blank=True, null=True, verbose_name="evidence")),
                ("occurrences", models.IntegerField(db_default=1, default=1, verbose_name="met")),
                (
                    "first_seen_at",
                    models.DateTimeField(
                        auto_now_add=True, db_default=django.db.models.functions.datetime.Now(), verbose_name="first met"
                    ),
                ),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        auto_now_add=True, db_default=django.db.models.functions.datetime.Now(), verbose_name="last met"
                    ),
                ),
                ("acknowledged_at", models.DateTimeField(blank=True, null=True, verbose_name="acknowledged at")),
                ("acknowledged_by", models.CharField(blank=True, max_length=150, null=True, verbose_name="acknowledged by")),
                ("closed_at", models.DateTimeField(blank=True, null=True, verbose_name="closed at")),
                ("closed_by", models.CharField(blank=True, max_length=150, null=True, verbose_name="closed by")),
                ("notified_at", models.DateTimeField(blank=True, null=True, verbose_name="sent at")),
                ("notify_attempts", models.IntegerField(db_default=0, default=0, verbose_name="tries to send")),
                ("notify_error", models.CharField(blank=True, max_length=500, null=True, verbose_name="not sent because")),
                ("next_notify_at", models.DateTimeField(blank=True, null=True, verbose_name="next try to send")),
            ],
            options={
                "verbose_name": "alarm",
                "verbose_name_plural": "alarms",
                "db_table": "crawl_alarm",
                "indexes": [
                    models.Index(fields=["status", "last_seen_at"], name="ix_crawl_alarm_status"),
                    models.Index(fields=["next_notify_at"], name="ix_crawl_alarm_notify"),
                ],
            },
        ),
    ]
