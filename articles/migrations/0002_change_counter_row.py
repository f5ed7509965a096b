"""The one row of the change counter: every write transaction locks it first."""

from typing import Any

from django.db import migrations


def create(apps: Any, schema_editor: Any) -> None:
    apps.get_model("articles", "ChangeCounter").objects.get_or_create(id=1, defaults={"value": 0})


def remove(apps: Any, schema_editor: Any) -> None:
    apps.get_model("articles", "ChangeCounter").objects.filter(id=1).delete()


class Migration(migrations.Migration):
    dependencies = [("articles", "0001_initial")]

    operations = [migrations.RunPython(create, remove)]
