from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sources", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="crawlsite",
            name="egress_proxy",
            field=models.CharField(blank=True, max_length=500, null=True, verbose_name="egress proxy"),
        ),
        migrations.AddField(
            model_name="crawlsite",
            name="verify_tls",
            field=models.BooleanField(db_default=True, default=True, verbose_name="check certificates"),
        ),
        migrations.AlterField(
            model_name="crawlsite",
            name="default_fetch_strategy",
            field=models.CharField(
                blank=True,
                choices=[("auto", "automatic"), ("httpx", "httpx"), ("playwright", "browser")],
                max_length=50,
                null=True,
                verbose_name="fetch strategy",
            ),
        ),
    ]
