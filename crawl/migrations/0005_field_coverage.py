import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawl", "0004_health_states"),
        ("sources", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="FieldCoverage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("run_id", models.BigIntegerField(unique=True, verbose_name="run")),
                (
                    "recorded_at",
                    models.DateTimeField(
                        auto_now_add=True, db_default=django.db.models.functions.datetime.Now(), verbose_name="at"
                    ),
                ),
                ("articles", models.IntegerField(db_default=0, default=0, verbose_name="articles")),
                ("with_title", models.IntegerField(db_default=0, default=0, verbose_name="with title")),
                ("with_date", models.IntegerField(db_default=0, default=0, verbose_name="with date")),
                ("with_index_no", models.IntegerField(db_default=0, default=0, verbose_name="with index number")),
                ("with_doc_no", models.IntegerField(db_default=0, default=0, verbose_name="with document number")),
                ("with_publisher", models.IntegerField(db_default=0, default=0, verbose_name="with publisher")),
                ("with_body", models.IntegerField(db_default=0, default=0, verbose_name="with text")),
                ("body_chars", models.BigIntegerField(db_default=0, default=0, verbose_name="characters of text")),
                (
                    "target",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="sources.crawltarget",
                        verbose_name="target",
                    ),
                ),
            ],
            options={
                "verbose_name": "field coverage",
                "verbose_name_plural": "field coverage",
                "db_table": "crawl_field_coverage",
                "indexes": [models.Index(fields=["target", "recorded_at"], name="ix_crawl_field_coverage_target")],
            },
        ),
    ]
