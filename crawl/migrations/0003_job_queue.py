import govcrawler.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("crawl", "0002_politeness_ledger"),
    ]

    operations = [
        migrations.AddField(
            model_name="crawlcluster",
            name="queue",
            field=govcrawler.fields.IdentityField(
                choices=[("crawl", "requests"), ("browser", "browser")],
                db_default="crawl",
                default="crawl",
                max_length=16,
                verbose_name="queue",
            ),
        ),
        migrations.AddField(
            model_name="crawljob",
            name="queue",
            field=govcrawler.fields.IdentityField(
                choices=[("crawl", "requests"), ("browser", "browser")],
                db_default="crawl",
                default="crawl",
                max_length=16,
                verbose_name="queue",
            ),
        ),
    ]
