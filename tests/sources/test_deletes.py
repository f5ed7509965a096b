"""What a deletion takes along, what it leaves, and what is refused (seed 000, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.utils import NestedObjects
from django.db import IntegrityError, OperationalError, connection
from django.db.models import RestrictedError
from django.db.models.deletion import Collector

from articles.models import Article, ArticleContent, ArticleStandardMeta, Attachment, DeleteRefused
from crawl.models import CrawlLog
from departments.models import LocalDepartment
from sources.models import CrawlSite, CrawlTarget, MasterColumn, SiteDepartment
from tests import rows
from tests.scratch import scratch_database


@pytest.fixture
def scratch(django_db_setup: None, django_db_blocker: Any, tmp_path: Path) -> Iterator[None]:
    with scratch_database(django_db_blocker, tmp_path):
        yield


@pytest.mark.django_db
def test_a_site_with_articles_is_not_deleted_and_loses_nothing() -> None:
    site = rows.site()
    path = rows.path(site=site)
    target = rows.target(site=site, site_department=path)
    kept = rows.article(site=site, target=target)
    with pytest.raises(RestrictedError) as refusal:
        site.delete()
    assert refusal.value.restricted_objects == {kept}
    with pytest.raises(RestrictedError):
        CrawlSite.objects.filter(pk=site.pk).delete()
    kept.refresh_from_db()
    assert (kept.site_id, kept.target_id) == (site.id, target.id)
    assert CrawlTarget.objects.filter(pk=target.pk, site_department=path).exists()


@pytest.mark.django_db
def test_a_site_without_articles_takes_its_paths_targets_and_columns_along_and_leaves_its_log() -> None:
    site, other = rows.site(), rows.site()
    path = rows.path(site=site)
    target = rows.target(site=site, site_department=path)
    rows.column(site=site, subscribed_target=target)
    log = CrawlLog.objects.create(site=site, target=target, success=True, http_status=200, article_url="http://www.example/")
    kept = [rows.path(site=other), rows.target(site=other), rows.column(site=other)]
    site.delete()
    for model in (SiteDepartment, CrawlTarget, MasterColumn):
        assert not model.objects.filter(site_id=site.pk or 0).exists()
        assert model.objects.count() == 1
    for row in kept:
        row.refresh_from_db()
    log.refresh_from_db()
    assert (log.site_id, log.target_id, log.http_status) == (None, None, 200)


@pytest.mark.django_db
def test_a_deleted_target_leaves_its_articles_its_column_and_its_log() -> None:
    site = rows.site()
    target = rows.target(site=site)
    articles = [rows.article(site=site, target=target) for _ in range(3)]
    column = rows.column(site=site, subscribed_target=target)
    log = CrawlLog.objects.create(site=site, target=target, success=False)
    target.delete()
    assert set(Article.objects.filter(site=site, target=None)) == set(articles)
    column.refresh_from_db()
    log.refresh_from_db()
    assert column.subscribed_target_id is None
    assert (log.site_id, log.target_id) == (site.id, None)


@pytest.mark.django_db
def test_a_deleted_path_takes_its_targets_along_and_their_articles_stay() -> None:
    site = rows.site()
    path = rows.path(site=site)
    target, other = rows.target(site=site, site_department=path), rows.target(site=site)
    article = rows.article(site=site, target=target)
    path.delete()
    assert list(CrawlTarget.objects.filter(site=site)) == [other]
    article.refresh_from_db()
    assert article.target_id is None


def owned() -> tuple[LocalDepartment, SiteDepartment, CrawlTarget, Article]:
    """A department and one of each row that points to it."""
    owner, site = rows.department(), rows.site()
    path = rows.path(site=site, local_dept=owner, dept_binding="mapped")
    target = rows.target(site=site, site_department=path, dept=owner)
    return owner, path, target, rows.article(site=site, target=target, dept=owner)


def state(path: SiteDepartment, target: CrawlTarget, article: Article) -> tuple[Any, ...]:
    for row in (path, target, article):
        row.refresh_from_db()
    return path.local_dept_id, path.dept_binding, target.dept_id, article.dept_id, article.target_id


@pytest.mark.django_db
def test_deleting_a_department_empties_its_bindings_and_returns_them_to_pending() -> None:
    owner, *dependants = owned()
    _, *others = owned()
    before = state(*others)
    owner.delete()
    assert state(*dependants) == (None, "pending", None, None, dependants[1].id)
    assert state(*others) == before


@pytest.mark.django_db
def test_deleting_departments_by_queryset_returns_all_their_bindings_to_pending() -> None:
    groups = [owned() for _ in range(3)]
    LocalDepartment.objects.filter(pk__in=[owner.pk for owner, *_ in groups]).delete()
    for _, path, target, article in groups:
        assert state(path, target, article) == (None, "pending", None, None, target.id)


@pytest.mark.django_db
def test_deleting_a_department_leaves_bindings_that_name_no_department_as_they_are() -> None:
    city = rows.path(dept_binding="city_level")
    owner, *_ = owned()
    owner.delete()
    city.refresh_from_db()
    assert city.dept_binding == "city_level"


@pytest.mark.django_db
@pytest.mark.parametrize("collector", [Collector, NestedObjects])
def test_a_delete_preview_changes_nothing(collector: type[Collector]) -> None:
    owner, *dependants = owned()
    before = state(*dependants)
    preview = collector(using="default")
    preview.collect([owner])
    assert state(*dependants) == before
    assert LocalDepartment.objects.filter(pk=owner.pk).exists()
    assert before[:2] == (owner.pk, "mapped")


@pytest.mark.django_db
def test_an_article_is_deleted_neither_alone_nor_by_queryset() -> None:
    article = rows.article()
    ArticleContent.objects.create(article=article, content_text="text")
    with pytest.raises(DeleteRefused, match=r"articles\.changes\.delete"):
        article.delete()
    with pytest.raises(DeleteRefused, match=r"articles\.changes\.delete"):
        Article.objects.filter(pk=article.pk).delete()
    with pytest.raises(DeleteRefused):
        article.site.articles.all().delete()
    assert Article.objects.get(pk=article.pk).content_text == "text"


def test_the_database_refuses_a_raw_delete_that_would_break_a_rule(scratch: None) -> None:
    owner, path, target, article = owned()
    column = rows.column(site=article.site, subscribed_target=target)
    ArticleStandardMeta.objects.create(article=article)
    Attachment.objects.create(article=article)
    CrawlLog.objects.create(site=article.site, target=target, success=True)
    parents = [
        ("crawl_site", "id", article.site_id),
        ("local_department", "dept_id", owner.pk),
        ("site_department", "id", path.id),
        ("crawl_target", "id", target.id),
        ("article", "id", article.id),
    ]
    for table, key, value in parents:
        with pytest.raises((IntegrityError, OperationalError), match=r"(?i)foreign key"), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table} WHERE {key} = %s", [value])
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*) FROM {table} WHERE {key} = %s", [value])
            assert cursor.fetchone() == (1,), table
    column.refresh_from_db()
    assert column.subscribed_target_id == target.id
