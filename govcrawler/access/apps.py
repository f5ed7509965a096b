from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "govcrawler.access"
    label = "access"
    verbose_name = _("API access")

    def ready(self) -> None:
        from govcrawler.access import openapi  # noqa: F401  (its class registers itself; models must be loaded)
