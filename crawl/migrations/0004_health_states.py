import govcrawler.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawl", "0003_job_queue"),
    ]

    operations = [
        migrations.AddField(
            model_name="sourcehealth",
            name="evidence_json",
            field=govcrawler.fields.JSONField(blank=True, null=True, verbose_name="evidence"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="failed_requests_7d",
            field=models.IntegerField(db_default=0, default=0, verbose_name="failed requests, 7 days"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="judged_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="judged at"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="requests_7d",
            field=models.IntegerField(db_default=0, default=0, verbose_name="requests, 7 days"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="runs_24h",
            field=models.IntegerField(db_default=0, default=0, verbose_name="runs, 24 hours"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="state",
            field=models.CharField(
                choices=[
                    ("healthy", "healthy"),
                    ("quiet", "quiet"),
                    ("late", "late"),
                    ("broken", "broken"),
                    ("no_history", "not enough history"),
                ],
                db_default="no_history",
                default="no_history",
                max_length=20,
                verbose_name="state",
            ),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="state_since",
            field=models.DateTimeField(blank=True, null=True, verbose_name="since"),
        ),
        migrations.AddField(
            model_name="sourcehealth",
            name="success_rate_24h",
            field=models.FloatField(blank=True, null=True, verbose_name="success rate, 24 hours"),
        ),
    ]
