import govcrawler.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawl", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="crawlhost",
            name="last_request_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="last request"),
        ),
        migrations.CreateModel(
            name="CrawlHostDay",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("host", govcrawler.fields.IdentityField(max_length=255, verbose_name="host")),
                ("day", models.DateField(verbose_name="day")),
                ("requests", models.IntegerField(db_default=0, default=0, verbose_name="requests")),
                ("bytes", models.BigIntegerField(db_default=0, default=0, verbose_name="bytes")),
                ("status_2xx", models.IntegerField(db_default=0, default=0, verbose_name="2xx")),
                ("status_3xx", models.IntegerField(db_default=0, default=0, verbose_name="3xx")),
                ("status_4xx", models.IntegerField(db_default=0, default=0, verbose_name="4xx")),
                ("status_5xx", models.IntegerField(db_default=0, default=0, verbose_name="5xx")),
                ("unanswered", models.IntegerField(db_default=0, default=0, verbose_name="without answer")),
                ("robots_refusals", models.IntegerField(db_default=0, default=0, verbose_name="refused by robots.txt")),
                ("shortest_gap_ms", models.BigIntegerField(blank=True, null=True, verbose_name="shortest gap, ms")),
                ("longest_gap_ms", models.BigIntegerField(blank=True, null=True, verbose_name="longest gap, ms")),
            ],
            options={
                "verbose_name": "politeness ledger entry",
                "verbose_name_plural": "politeness ledger",
                "db_table": "crawl_host_day",
                "indexes": [models.Index(fields=["day", "host"], name="ix_crawl_host_day_day")],
                "constraints": [models.UniqueConstraint(fields=("host", "day"), name="uq_crawl_host_day")],
            },
        ),
    ]
