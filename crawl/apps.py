from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CrawlConfig(AppConfig):
    name = "crawl"
    verbose_name = _("Crawling")

    def ready(self) -> None:
        from crawl import checks  # noqa: F401  (registers the system checks)
