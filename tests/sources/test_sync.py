"""``sync_sites`` and ``export_sites`` through the command line's door."""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command

from articles.models import Article
from crawl.models import CrawlJob
from departments.models import LocalDepartment
from govcrawler.audit.models import AdminAuditLog
from sources.models import CrawlSite, CrawlTarget, SiteDepartment
from sources.site_columns import DEPARTMENT_COLUMNS, SITE_COLUMNS, TARGET_COLUMNS

pytestmark = pytest.mark.django_db

FULL = """\
site_code: qingfu
site_name: 清府市人民政府
base_url: http://www.qingfu.example
site_role: qingyuan_local
adapter: trs_wcm
params: {external_links: follow}
fetch_strategy: httpx
strategy_reason: static pages
respect_robots: true
remark: 试点
window: {start: 22:00, end: 06:30}
daily_max_requests: 400
weekend_enabled: false
backoff: {min_sec: 30, max_sec: 600}
cron: 0 3 * * *
departments:
  - {path: /edu/, name: 教育局, oa_id: 77}
  - {path: /all/, binding: cross_dept}
targets:
  - target_code: qingfu_edu
    name: 教育局通知
    entry_url: http://www.qingfu.example/edu/index.html
    sample_article_url: http://www.qingfu.example/edu/202403/t20240315_1.html
    department: /edu/
    oa_id: 77
    params: {body_selector: div.text}
    channel_name: 通知
    channel_path: 教育局/通知
    category: 通知公告
    subcategory: 教育
    cron: 30 4 * * *
    cadence_days: 10
    interval_sec: 5
    jitter_sec: 2
    track_checkpoint: true
  - target_code: qingfu_all
    entry_url: http://www.qingfu.example/all/index.html
    department: /all/
  - {target_code: qingfu_old, enabled: false}
"""
RULES = """\
site_code: yanling
respect_robots: false
rules:
  list: {row: ul.news > li, title: {css: a, attr: title}}
targets:
  - {target_code: yanling_news, entry_url: http://www.yanling.example/news/}
"""
NOON = datetime(2024, 3, 15, 4, 0, tzinfo=UTC)


class Folder:
    """A SITES_DIR and the commands that work on it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.path / f"{name}.yaml").write_text(text, encoding="utf-8")

    def sync(self, *options: str) -> str:
        out = io.StringIO()
        call_command("sync_sites", *options, stdout=out, stderr=io.StringIO())
        return out.getvalue()

    def refused(self, *options: str) -> str:
        before = snapshot()
        with pytest.raises(CommandError) as caught:
            self.sync(*options)
        assert caught.value.returncode == 2
        assert snapshot() == before
        return str(caught.value)


@pytest.fixture
def sites(tmp_path: Path, settings: Any) -> Folder:
    settings.SITES_DIR = tmp_path / "sites"
    settings.SITES_DIR.mkdir()
    LocalDepartment.objects.create(dept_id=77, dept_name="市教育局")
    return Folder(settings.SITES_DIR)


@pytest.fixture
def synced(sites: Folder) -> Folder:
    sites.write(full=FULL, rules=RULES)
    sites.sync()
    return sites


def snapshot() -> list[Any]:
    models = (CrawlSite, SiteDepartment, CrawlTarget, AdminAuditLog)
    return [list(model.objects.order_by("pk").values()) for model in models]


def article(target: CrawlTarget) -> Article:
    url = f"http://www.qingfu.example/{target.target_code}"
    return Article.objects.create(site=target.site, target=target, url=url, url_hash=hashlib.sha256(url.encode()).hexdigest())


def test_files_become_sites_departments_and_targets(synced: Folder) -> None:
    site = CrawlSite.objects.get(site_code="qingfu")
    assert (site.site_name, site.site_role, site.cms_adapter, site.yaml_path) == (
        "清府市人民政府",
        "qingyuan_local",
        "trs_wcm",
        None,
    )
    assert site.adapter_params_json == {"external_links": "follow"}
    assert (site.crawl_window_start, site.crawl_window_end) == (time(22), time(6, 30))
    assert (site.backoff_min_sec, site.backoff_max_sec, site.daily_max_requests) == (30, 600, 400)
    assert (site.weekend_enabled, site.respect_robots, site.enabled, site.managed_by) == (False, True, True, "yaml")
    education, everyone = site.departments.order_by("-dept_path")
    assert (education.dept_display_name, education.dept_binding, education.local_dept_id) == ("教育局", "mapped", 77)
    assert (everyone.dept_binding, everyone.local_dept_id) == ("cross_dept", None)
    target = CrawlTarget.objects.get(target_code="qingfu_edu")
    assert (target.site, target.site_department, target.dept_id) == (site, education, 77)
    assert target.parser_override_json == {"body_selector": "div.text"}
    assert (target.content_category, target.content_subcategory, target.schedule_cron) == ("通知公告", "教育", "30 4 * * *")
    assert (target.expected_cadence_days, target.interval_sec, target.interval_jitter_sec) == (10, 5, 2)
    assert target.track_checkpoint is True


def test_rules_are_stored_with_the_name_of_their_file_and_no_adapter(synced: Folder) -> None:
    site = CrawlSite.objects.get(site_code="yanling")
    assert (site.cms_adapter, site.yaml_path) == (None, "rules.yaml")
    assert site.adapter_params_json == {"list": {"row": "ul.news > li", "title": {"css": "a", "attr": "title"}}}


def test_a_second_sync_says_no_changes_and_writes_nothing(synced: Folder) -> None:
    before = snapshot()
    said = synced.sync()
    assert said.splitlines()[-1] == "no changes"
    assert snapshot() == before


def test_the_diff_tells_added_rows_and_changed_fields_with_old_and_new_value(sites: Folder) -> None:
    sites.write(full=FULL)
    added = sites.sync().splitlines()
    assert "+ site qingfu" in added
    assert "+ department /edu/ of site qingfu" in added
    assert "+ target qingfu_old of site qingfu" in added
    sites.write(
        full=FULL.replace("interval_sec: 5", "interval_sec: 9").replace("    department: /all/", "    department: /edu/")
    )
    assert sites.sync().splitlines() == [
        "~ target qingfu_edu of site qingfu",
        "    interval_sec: 5 -> 9",
        "~ target qingfu_all of site qingfu",
        "    department: '/all/' -> '/edu/'",
    ]
    assert CrawlTarget.objects.get(target_code="qingfu_all").site_department.dept_path == "/edu/"


def test_only_changed_rows_are_written(synced: Folder) -> None:
    before = {row.target_code: row.updated_at for row in CrawlTarget.objects.all()}
    synced.write(full=FULL.replace("interval_sec: 5", "interval_sec: 9"))
    synced.sync()
    after = {row.target_code: row.updated_at for row in CrawlTarget.objects.all()}
    assert [code for code in before if before[code] != after[code]] == ["qingfu_edu"]


def test_a_key_taken_out_of_a_file_goes_back_to_its_default(synced: Folder) -> None:
    synced.write(full=FULL.replace("remark: 试点\n", "").replace("weekend_enabled: false\n", ""))
    said = synced.sync()
    assert "    remark: '试点' -> None" in said.splitlines()
    site = CrawlSite.objects.get(site_code="qingfu")
    assert (site.remark, site.weekend_enabled) == (None, True)


def test_a_dry_run_prints_the_same_and_changes_nothing(sites: Folder) -> None:
    sites.write(full=FULL, rules=RULES)
    before = snapshot()
    rehearsed = sites.sync("--dry-run")
    assert snapshot() == before
    assert sites.sync() == rehearsed


def test_a_switch_from_adapter_to_rules_and_back_keeps_exactly_one(synced: Folder) -> None:
    synced.write(rules=RULES.replace("rules:\n  list: {row: ul.news > li, title: {css: a, attr: title}}", "adapter: trs_wcm"))
    synced.sync()
    site = CrawlSite.objects.get(site_code="yanling")
    assert (site.cms_adapter, site.yaml_path, site.adapter_params_json) == ("trs_wcm", None, None)
    synced.write(rules=RULES)
    synced.sync()
    site.refresh_from_db()
    assert (site.cms_adapter, site.yaml_path) == (None, "rules.yaml")


def test_a_site_that_ignores_robots_is_called_out_on_every_sync(synced: Folder) -> None:
    assert "WARNING: SITE yanling IGNORES ROBOTS.TXT (respect_robots: false in rules.yaml)" in synced.sync()
    assert "SITE qingfu" not in synced.sync()


def test_one_fault_in_one_file_changes_nothing_in_any(sites: Folder) -> None:
    sites.write(full=FULL, rules=RULES.replace("http://www.yanling.example/news/", "yanling/news"))
    said = sites.refused()
    assert "rules.yaml:6: targets[0].entry_url: got 'yanling/news'; no http(s) URL" in said
    assert "1 fault(s)" in said
    assert "nothing was changed" in said


def test_an_unknown_oa_department_is_refused_beside_the_faults_of_other_files(sites: Folder) -> None:
    sites.write(full=FULL.replace("oa_id: 77", "oa_id: 78"), rules=RULES.replace("target_code", "target_cod"))
    said = sites.refused().splitlines()
    assert any(line.startswith("full.yaml:17: departments[0].oa_id: 78 is no OA department here; ") for line in said)
    assert any(line.startswith("full.yaml:25: targets[0].oa_id: 78 is no OA department here; ") for line in said)
    assert any("targets[0].target_cod: unknown key; did you mean target_code?" in line for line in said)


def test_sites_of_the_admin_pages_are_never_touched(sites: Folder) -> None:
    site = CrawlSite.objects.create(site_code="qingfu", cms_adapter="gkmlpt", managed_by="ui")
    CrawlTarget.objects.create(site=site, target_code="by_hand", schedule_cron="0 1 * * *")
    sites.write(rules=RULES)
    before = CrawlSite.objects.filter(pk=site.pk).values().get(), CrawlTarget.objects.filter(site=site).values().get()
    said = sites.sync("--prune")
    assert "qingfu" not in said
    assert (CrawlSite.objects.filter(pk=site.pk).values().get(), CrawlTarget.objects.filter(site=site).values().get()) == before
    sites.write(full=FULL)
    assert "full.yaml:1: site_code: site qingfu is managed in the admin pages; remove the file" in sites.refused()


def test_a_target_code_of_another_site_is_refused(synced: Folder) -> None:
    (synced.path / "full.yaml").unlink()
    synced.write(other="site_code: other\nadapter: trs_wcm\ntargets: [{target_code: qingfu_edu, enabled: false}]\n")
    assert "targets[0].target_code: 'qingfu_edu' belongs to site qingfu; targets do not move" in synced.refused()


def test_a_binding_made_in_the_admin_stays_when_the_file_states_none(sites: Folder) -> None:
    sites.write(full=FULL.replace("  - {path: /all/, binding: cross_dept}", "  - {path: /all/}"))
    sites.sync()
    row = SiteDepartment.objects.get(dept_path="/all/")
    assert row.dept_binding == "pending"
    row.dept_binding, row.local_dept_id = "mapped", 77
    row.save()
    assert sites.sync().splitlines()[-1] == "no changes"
    sites.write(full=FULL)
    assert {"    binding: 'mapped' -> 'cross_dept'", "    oa_id: 77 -> None"} <= set(sites.sync().splitlines())


def test_what_is_in_no_file_is_listed_and_left_without_prune(synced: Folder) -> None:
    (synced.path / "rules.yaml").unlink()
    synced.write(full=FULL.replace("  - {target_code: qingfu_old, enabled: false}\n", ""))
    before = snapshot()
    said = synced.sync()
    assert "not in files: site yanling (left as it is" in said
    assert "not in files: target qingfu_old of site qingfu (left as it is" in said
    assert snapshot() == before


def test_prune_deletes_what_was_never_used(synced: Folder) -> None:
    (synced.path / "rules.yaml").unlink()
    shorter = FULL.replace("  - {path: /all/, binding: cross_dept}\n", "")
    synced.write(full=shorter[: shorter.index("  - target_code: qingfu_all")])
    said = synced.sync("--prune").splitlines()
    assert said == [
        "- target qingfu_all of site qingfu: deleted",
        "- target qingfu_old of site qingfu: deleted",
        "- department /all/ of site qingfu: deleted",
        "- target yanling_news of site yanling: deleted",
        "- site yanling: deleted",
    ]
    assert list(CrawlTarget.objects.values_list("target_code", flat=True)) == ["qingfu_edu"]
    assert list(CrawlSite.objects.values_list("site_code", flat=True)) == ["qingfu"]
    assert synced.sync("--prune").splitlines() == ["no changes"]


def test_prune_only_disables_what_articles_jobs_or_targets_refer_to(synced: Folder) -> None:
    found = article(CrawlTarget.objects.get(target_code="qingfu_all"))
    CrawlJob.objects.create(
        job_id="1", host="x", site_code="yanling", target_code="yanling_news", source="manual", status="queued"
    )
    (synced.path / "rules.yaml").unlink()
    shorter = FULL.replace("  - {path: /all/, binding: cross_dept}\n", "")
    synced.write(full=shorter[: shorter.index("  - target_code: qingfu_all")])
    said = synced.sync("--prune").splitlines()
    assert "- target qingfu_all of site qingfu: disabled" in said
    assert "- department /all/ of site qingfu: disabled" in said
    assert "- site yanling: disabled" in said
    found.refresh_from_db()
    assert found.target is not None and found.target.enabled is False
    assert found.target.next_due_at is None
    assert found.target.site_department is not None
    assert CrawlTarget.objects.filter(target_code="yanling_news").exists()
    assert synced.sync("--prune").splitlines() == ["no changes"]


@time_machine.travel(NOON, tick=False)
def test_next_due_is_set_from_the_target_s_cron_else_the_site_s(sites: Folder) -> None:
    sites.write(full=FULL, rules=RULES)
    sites.sync()
    due = dict(CrawlTarget.objects.values_list("target_code", "next_due_at"))
    assert due == {
        "qingfu_edu": datetime(2024, 3, 15, 20, 30, tzinfo=UTC),
        "qingfu_all": datetime(2024, 3, 15, 19, 0, tzinfo=UTC),
        "qingfu_old": None,
        "yanling_news": None,
    }


def test_next_due_moves_only_when_the_cron_changes(sites: Folder) -> None:
    sites.write(full=FULL)
    with time_machine.travel(NOON, tick=False):
        sites.sync()
    planned = datetime(2024, 3, 14, 19, 0, tzinfo=UTC)
    CrawlTarget.objects.filter(target_code="qingfu_all").update(next_due_at=planned)
    with time_machine.travel(NOON, tick=False):
        assert sites.sync().splitlines() == ["no changes"]
        assert CrawlTarget.objects.get(target_code="qingfu_all").next_due_at == planned
        sites.write(full=FULL.replace("\ncron: 0 3 * * *", "\ncron: 0 5 * * *"))
        assert "next run set anew for 1 target(s)" in sites.sync()
    due = dict(CrawlTarget.objects.values_list("target_code", "next_due_at"))
    assert due["qingfu_all"] == datetime(2024, 3, 15, 21, 0, tzinfo=UTC)
    assert due["qingfu_edu"] == datetime(2024, 3, 15, 20, 30, tzinfo=UTC)


def test_next_due_goes_when_the_cron_or_the_target_does(synced: Folder) -> None:
    synced.write(full=FULL.replace("    cron: 30 4 * * *\n", "").replace("\ncron: 0 3 * * *", ""))
    synced.sync()
    assert set(CrawlTarget.objects.values_list("next_due_at", flat=True)) == {None}


def test_a_sync_that_changes_something_leaves_one_audit_row(synced: Folder) -> None:
    rows = list(AdminAuditLog.objects.values_list("action", "method"))
    assert rows == [("sites.sync", "CLI")]
    synced.sync()
    assert AdminAuditLog.objects.count() == 1


def test_an_export_synced_again_changes_nothing(synced: Folder, tmp_path: Path, settings: Any) -> None:
    settings.SITES_DIR = tmp_path / "export"
    call_command("export_sites", "--output", str(settings.SITES_DIR), stdout=io.StringIO())
    assert sorted(path.name for path in settings.SITES_DIR.iterdir()) == ["qingfu.yaml", "rules.yaml"]
    before = snapshot()
    assert synced.sync("--prune").splitlines()[-1] == "no changes"
    assert snapshot() == before


def test_an_export_builds_the_same_registry_elsewhere(synced: Folder, tmp_path: Path, settings: Any) -> None:
    CrawlSite.objects.filter(site_code="yanling").update(managed_by="ui", remark="no: 'yes', 22:30 | x")
    settings.SITES_DIR = tmp_path / "export"
    call_command("export_sites", "--output", str(settings.SITES_DIR), stdout=io.StringIO())
    assert "site yanling is managed in the admin pages: rules.yaml is not applied" in synced.sync()
    columns = [
        [*SITE_COLUMNS.values(), "site_code"],
        [*DEPARTMENT_COLUMNS.values(), "dept_path"],
        [*TARGET_COLUMNS.values(), "target_code", "site_department__dept_path"],
    ]
    models = ((CrawlSite, "site_code"), (SiteDepartment, "dept_path"), (CrawlTarget, "target_code"))

    def content() -> list[Any]:
        return [list(model.objects.order_by(key).values(*names)) for (model, key), names in zip(models, columns, strict=True)]

    before = content()
    CrawlSite.objects.all().delete()
    synced.sync()
    assert content() == before


def test_an_export_prints_named_sites_and_refuses_unknown_ones(synced: Folder) -> None:
    out = io.StringIO()
    call_command("export_sites", "yanling", stdout=out)
    assert out.getvalue().startswith("# rules.yaml\nsite_code: yanling\n")
    assert "qingfu" not in out.getvalue()
    with pytest.raises(CommandError, match="no such site: nowhere") as caught:
        call_command("export_sites", "nowhere", stdout=out)
    assert caught.value.returncode == 2


def test_an_export_overwrites_no_file_that_differs(synced: Folder) -> None:
    kept = (synced.path / "rules.yaml").read_bytes()
    with pytest.raises(CommandError, match=r"not overwritten: .*rules\.yaml") as caught:
        call_command("export_sites", "--output", str(synced.path), stdout=io.StringIO())
    assert caught.value.returncode == 2
    assert (synced.path / "rules.yaml").read_bytes() == kept
    assert not (synced.path / "qingfu.yaml").exists()


@pytest.mark.django_db(transaction=True)
def test_the_command_ends_with_status_2_and_no_traceback_on_bad_files(sites: Folder, run_manage: Any) -> None:
    sites.write(full=FULL.replace("cron: 0 3 * * *", "cron: never"))
    done = run_manage("sync_sites", env={"SITES_DIR": str(sites.path)})
    assert done.returncode == 2
    assert "full.yaml:15: cron: got 'never'; " in done.stderr
    assert "Traceback" not in done.stderr
    assert not CrawlSite.objects.exists()
