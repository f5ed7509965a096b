"""The seed's full column list of ``article``, text included, for those who read with SQL.

MySQL and MariaDB only: on SQLite a view blocks later table changes. Columns are listed, because a view of ``a.*`` would not
see columns that come later; the migration that changes ``article`` makes the view again.
"""

from typing import Any

from django.db import migrations

COLUMNS = """
id site_id target_id dept_id native_post_id url url_hash title publish_time source_raw
index_no doc_no publisher publish_date effective_date is_effective expiry_date topic_words open_category
content_category content_subcategory channel_name channel_path metadata_json
""".split()
AFTER_TEXT = """
raw_html_path text_path has_attachment status fetch_strategy fetched_at created_at updated_at
exported_to_rag_at rag_export_status rag_export_started_at rag_export_finished_at rag_export_error rag_export_task_ids
""".split()


def create(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "mysql":
        return
    columns = ", ".join([*(f"a.{name}" for name in COLUMNS), "c.content_text", *(f"a.{name}" for name in AFTER_TEXT)])
    schema_editor.execute(
        f"CREATE OR REPLACE VIEW article_with_text AS SELECT {columns} "
        "FROM article a LEFT JOIN article_content c ON c.article_id = a.id"
    )


def remove(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "mysql":
        schema_editor.execute("DROP VIEW IF EXISTS article_with_text")


class Migration(migrations.Migration):
    atomic = False  # a view is DDL, which MySQL cannot roll back

    dependencies = [("articles", "0002_change_counter_row")]

    operations = [migrations.RunPython(create, remove)]
