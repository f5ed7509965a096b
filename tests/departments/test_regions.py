"""Regions of 清远 from names, level and hierarchy."""

from __future__ import annotations

import json

import pytest

from departments.models import LocalDepartment
from departments.regions import RULES_FILE, backfill, by_name, rules
from govcrawler.audit.models import AdminAuditLog

COUNTIES = ["清城区", "清新区", "英德市", "连州市", "佛冈县", "连山壮族瑶族自治县", "连南瑶族自治县", "阳山县"]


def make(dept_id: int, name: str, parent: int | None = None, level: int | None = None, region: str | None = None) -> None:
    LocalDepartment.objects.create(dept_id=dept_id, dept_name=name, parent_dept_id=parent, dept_level=level, region=region)


def regions() -> dict[int, str | None]:
    return dict(LocalDepartment.objects.values_list("dept_id", "region"))


def test_the_rules_name_the_eight_counties_and_the_city() -> None:
    rule = rules()
    assert [county.region for county in rule.counties] == COUNTIES
    assert rule.city == "清远市"
    forms = [form for county in rule.counties for form in (*county.anywhere, *county.at_start)]
    assert len(forms) == len(set(forms))
    assert all(len(county.region) <= 50 for county in rule.counties)
    assert json.loads(RULES_FILE.read_text(encoding="utf-8"))["county_levels"] == [2, 3]


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("清城区教育局", "清城区"),
        ("清远市清城区人民政府", "清城区"),
        ("广东省清远市清新区太平镇", "清新区"),
        ("清新县财政局", "清新区"),
        ("英德市英红镇人民政府", "英德市"),
        ("连州水务集团", "连州市"),
        ("佛冈县档案馆", "佛冈县"),
        ("连山县司法局", "连山壮族瑶族自治县"),
        ("连山壮族瑶族自治县民政局", "连山壮族瑶族自治县"),
        ("连南瑶族自治县民政局", "连南瑶族自治县"),
        ("清远市/阳山县/交通局", "阳山县"),
        ("清远市生态环境局清城分局", "清城区"),
        ("清远市教育局", "清远市"),
        ("清远高新区管委会", "清远市"),
        ("广州对口帮扶连山县工作队", "连山壮族瑶族自治县"),
        ("关于清新空气的研究室", None),
        ("清城区清新区联合办公室", None),
        ("广东省水利厅", None),
        ("教育局", None),
        ("", None),
    ],
)
def test_a_name_tells_one_county_or_the_city_or_nothing(name: str, region: str | None) -> None:
    assert by_name(LocalDepartment(dept_id=1, dept_name=name), rules()) == region


def test_the_full_name_is_asked_when_the_name_tells_nothing() -> None:
    rule = rules()
    assert by_name(LocalDepartment(dept_id=1, dept_name="教育局", full_name="清远市连南县教育局"), rule) == "连南瑶族自治县"
    assert by_name(LocalDepartment(dept_id=1, dept_name="阳山县教育局", full_name="清远市教育局"), rule) == "阳山县"


@pytest.mark.django_db
def test_the_nearest_ancestor_that_tells_a_region_gives_it() -> None:
    make(1, "清远市")
    make(10, "佛冈县", parent=1, level=2)
    make(11, "石角镇", parent=10, level=3)
    make(12, "党政办", parent=11)
    make(20, "办公室", parent=1)
    assert backfill().unresolved == ()
    assert regions() == {1: "清远市", 10: "佛冈县", 11: "佛冈县", 12: "佛冈县", 20: "清远市"}


@pytest.mark.django_db
def test_a_level_1_department_is_the_citys_and_a_countys_never_inherits_the_city() -> None:
    make(1, "清远市")
    make(2, "教育局", parent=999, level=1)
    make(3, "财政局", parent=1, level=2)
    make(4, "某镇", parent=1, level=3)
    result = backfill()
    assert [department.dept_id for department in result.unresolved] == [3, 4]
    assert regions() == {1: "清远市", 2: "清远市", 3: None, 4: None}


@pytest.mark.django_db
def test_only_empty_regions_are_filled_and_a_corrected_ancestor_is_believed() -> None:
    make(1, "英德市", region="飞地")
    make(2, "办公室", parent=1)
    make(3, "连州市财政局", region="")
    backfill()
    assert regions() == {1: "飞地", 2: "飞地", 3: "连州市"}


@pytest.mark.django_db
def test_force_replaces_what_the_rules_decide_and_empties_nothing() -> None:
    make(1, "英德市", region="飞地")
    make(2, "办公室", parent=1, region="飞地")
    make(3, "广东省水利厅", region="省")
    result = backfill(force=True)
    assert regions() == {1: "英德市", 2: "英德市", 3: "省"}
    assert (len(result.found), result.unchanged, result.unresolved) == (2, 1, ())


@pytest.mark.django_db
def test_a_stored_cycle_ends_the_search() -> None:
    make(1, "甲", parent=2)
    make(2, "乙", parent=1)
    make(3, "丙", parent=3)
    assert len(backfill().unresolved) == 3


@pytest.mark.django_db
def test_a_second_backfill_changes_nothing_and_each_change_is_audited_once() -> None:
    for dept_id in range(1, 1202):
        make(dept_id, "连州市某局")
    backfill(dry_run=True)
    assert not AdminAuditLog.objects.exists()
    assert len(backfill().found) == 1201
    assert backfill().found == {}
    assert set(regions().values()) == {"连州市"}
    entry = AdminAuditLog.objects.get()
    assert (entry.action, entry.method, entry.path) == ("department.region", "CLI", "backfill_dept_region")
