from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SourcesConfig(AppConfig):
    name = "sources"
    verbose_name = _("Sources")

    def ready(self) -> None:
        from django.db.models.signals import pre_delete

        from departments.models import LocalDepartment
        from sources.bindings import release_department

        pre_delete.connect(release_department, sender=LocalDepartment, dispatch_uid="sources.release_department")
