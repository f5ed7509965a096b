"""Importing departments: what is read, what is refused, what changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from departments.importing import ImportRefused, run
from departments.models import LocalDepartment
from govcrawler.audit.models import AdminAuditLog
from tests.departments.files import HEADER, csv, xlsx

pytestmark = pytest.mark.django_db


def stored(*fields: str) -> list[tuple[Any, ...]]:
    return list(LocalDepartment.objects.order_by("dept_id").values_list(*fields))


def errors(name: str, data: bytes, **options: Any) -> list[str]:
    """What the import says when it refuses; it must have changed nothing."""
    before = stored("dept_id", "dept_name", "parent_dept_id")
    with pytest.raises(ImportRefused) as refusal:
        run(name, data, **options)
    assert stored("dept_id", "dept_name", "parent_dept_id") == before
    assert not AdminAuditLog.objects.filter(action="department.import").exists()
    return list(refusal.value.errors)


def test_every_column_of_a_workbook_arrives_with_the_oas_ids() -> None:
    rows = [
        HEADER,
        (1001, "清远市教育局", None, 1, "QY-01", "市教育局", "清远市教育局（工委）", 1, 10, datetime(2024, 3, 20, 8, 30), None),
        ("1002", "清城区教育局", 1001.0, "县区", 44, None, None, "1", 20.0, date(2024, 3, 21), "清城区"),
    ]
    plan = run("list.xlsx", xlsx(rows))
    assert len(plan.added) == 2
    first, second = LocalDepartment.objects.order_by("dept_id")
    assert (first.dept_id, first.dept_name, first.parent_dept_id, first.dept_level) == (1001, "清远市教育局", None, 1)
    assert (first.dept_code, first.short_name, first.full_name) == ("QY-01", "市教育局", "清远市教育局（工委）")
    assert (first.state, first.order_id, first.region) == (1, 10, None)
    assert first.updated_at == datetime(2024, 3, 20, 0, 30, tzinfo=UTC)
    assert (second.dept_id, second.parent_dept_id, second.dept_level, second.dept_code) == (1002, 1001, 2, "44")
    assert (second.state, second.order_id, second.region) == (1, 20, "清城区")
    assert second.updated_at == datetime(2024, 3, 20, 16, 0, tzinfo=UTC)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16"])
def test_a_csv_is_read_in_any_usual_encoding_and_with_any_usual_delimiter(encoding: str, delimiter: str, end: str) -> None:
    lines = [delimiter.join(cells) for cells in (("部门ID", "名称", "简称"), ("7", "佛冈县水利局", '"水利, 局;\t"'))]
    run("list.CSV", csv(*lines, encoding=encoding, end=end))
    assert stored("dept_id", "dept_name", "short_name") == [(7, "佛冈县水利局", "水利, 局;")]


def test_rare_characters_of_names_survive_gb18030() -> None:
    run("list.csv", csv("部门ID,名称", "7,𠮷田社区", encoding="gb18030"))
    assert stored("dept_name") == [("𠮷田社区",)]


@pytest.mark.parametrize(
    "header",
    [
        "部门ID,名称,父级ID,层级",
        "OA部门ID,部门名称,上级部门ID,级别",
        "dept_id,dept_name,parent_dept_id,dept_level",
        "Dept ID,Department Name,Parent-ID,LEVEL",
        "ＩＤ,部门 名称,上级部门,级别",
        "*部门ID:,名称,pid,level",
    ],
)
def test_headers_are_known_by_their_synonyms_in_both_languages(header: str) -> None:
    run("list.csv", csv(header, "2,英德市财政局,1,2", "1,清远市财政局,,1"))
    assert stored("dept_id", "dept_name", "parent_dept_id", "dept_level") == [
        (1, "清远市财政局", None, 1),
        (2, "英德市财政局", 1, 2),
    ]


def test_titles_above_the_header_and_blank_rows_are_passed_over() -> None:
    rows = [("清远市组织机构一览表", None, None), (None, None, None), ("部门ID", "名称", "简称"), (1, "甲局", None)]
    rows += [(None, " ", None), (2, "乙局", "乙")]
    run("list.xlsx", xlsx(rows, merged=["A1:C1"]))
    run("list.csv", csv("清远市组织机构一览表,,", ",,", "部门ID,名称,简称", "3,丙局,", ",,", "", "4,丁局,丁"))
    assert stored("dept_id", "dept_name") == [(1, "甲局"), (2, "乙局"), (3, "丙局"), (4, "丁局")]


def test_a_list_that_does_not_begin_in_the_first_cell_keeps_its_row_and_column_names() -> None:
    told = errors("list.xlsx", xlsx([(), (), (None, "部门ID", "名称"), (None, 1, "=1+1"), (None, "x", "#REF!")]))
    assert [line.partition(":")[0] for line in told] == ["row 5, column B (部门ID)", "row 5, column C (名称)"]


def test_a_merged_cell_counts_for_every_row_it_spans() -> None:
    run("list.xlsx", xlsx([("区域", "部门ID", "名称"), ("阳山县", 1, "甲局"), (None, 2, "乙局")], merged=["A2:A3"]))
    assert stored("dept_id", "region") == [(1, "阳山县"), (2, "阳山县")]


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A1", "=1+1", "+86", "-7", "@SUM(1)", "＝1+1"])
def test_text_that_looks_like_a_formula_stays_that_text(text: str) -> None:
    run("list.csv", csv("部门ID,名称", f"1,{text}"))
    run("list.xlsx", xlsx([("部门ID", "名称"), (2, text)], text=["B2"]))
    run("list2.xlsx", xlsx([("部门ID", "名称"), (3, text)]))
    assert stored("dept_name") == [(text,), (text,), (text,)]


def test_a_formula_is_no_number() -> None:
    (told,) = errors("list.xlsx", xlsx([("部门ID", "名称"), ("=1+1", "甲局")]))
    assert told == "row 2, column A (部门ID): '=1+1' is not a whole number"


def test_a_failed_formula_is_told_and_not_taken_for_an_empty_cell() -> None:
    (told,) = errors("list.xlsx", xlsx([("部门ID", "名称"), (1, "#N/A")]))
    assert told.startswith("row 2, column B (名称): the cell holds the error #N/A")


def test_all_faults_of_a_file_are_told_at_once_by_row_and_column() -> None:
    rows = [
        ("部门ID", "名称", "上级部门ID", "级别", "更新时间"),
        (1, "甲" * 251, "x", "省级", "昨天"),
        (None, "没有编号", None, None, None),
        (1.5, "乙局", True, 3, "2024-02-30"),
        (2**63 * 1.0, "丙局", None, 2**31, datetime(2024, 1, 1)),
        (9, "丁局", None, None, 45371.5),
        (9, "戊局", None, None, None),
    ]
    told = errors("list.xlsx", xlsx(rows))
    starts = [line.split(":")[0] for line in told]
    assert starts == [
        "row 2, column B (名称)",
        "row 2, column C (上级部门ID)",
        "row 2, column D (级别)",
        "row 2, column E (更新时间)",
        "row 3, column A (部门ID)",
        "row 4, column A (部门ID)",
        "row 4, column C (上级部门ID)",
        "row 4, column E (更新时间)",
        "row 5, column A (部门ID)",
        "row 5, column D (级别)",
        "row 6, column E (更新时间)",
    ]
    assert "has 251 characters, at most 250 fit" in told[0]
    assert "'x' is not a whole number" in told[1]
    assert "'省级'" in told[2]
    assert "市级" in told[2]
    assert "2024-03-20 15:30:00" in told[3]
    assert "Excel rounds" in told[8]


def test_an_id_given_twice_names_both_rows() -> None:
    told = errors("list.csv", csv("部门ID,名称", "7,甲局", "8,乙局", "7.0,丙局", "７,丁局"))
    assert told == [
        "row 4, column A (部门ID): 7 is already in row 2",
        "row 5, column A (部门ID): 7 is already in row 2",
    ]


def test_rows_after_a_cell_of_several_lines_keep_the_numbers_of_the_file() -> None:
    told = errors("list.csv", csv("部门ID,名称", '1,"甲', '局"', "x,乙局"))
    assert told == ["row 4, column A (部门ID): 'x' is not a whole number"]


def test_an_unknown_column_is_told_with_the_known_names_and_can_be_left_out() -> None:
    data = csv("部门ID,名称,联系电话,简称简称", "1,甲局,0763,x")
    told = errors("list.csv", data)
    assert [line.split(":")[0] for line in told] == ["row 1, column C", "row 1, column D"]
    assert "'联系电话'" in told[0]
    assert "--ignore" in told[0]
    assert "上级部门ID" in told[0]
    run("list.csv", data, ignored=["联系电话", " 简称简称"])
    assert stored("dept_id", "dept_name", "short_name") == [(1, "甲局", None)]


def test_two_columns_of_one_meaning_are_refused() -> None:
    (told,) = errors("list.csv", csv("部门ID,名称,部门名称", "1,甲,乙"))
    assert "'部门名称' means dept_name, as column B does" in told


@pytest.mark.parametrize("lines", [("名称,级别", "甲局,1"), ("甲局,1", "乙局,2"), ("",), ("部门ID", "1")])
def test_a_file_without_a_column_of_ids_beside_another_is_refused_with_the_names_it_may_have(lines: tuple[str, ...]) -> None:
    (told,) = errors("list.csv", csv(*lines))
    assert "no column of OA ids" in told
    assert "OA部门ID" in told
    assert "dept_id" in told


def test_a_header_without_departments_is_refused() -> None:
    (told,) = errors("list.csv", csv("部门ID,名称", ","))
    assert "no department below the header in row 1" in told


def test_a_value_beside_the_named_columns_is_refused_instead_of_lost() -> None:
    (told,) = errors("list.csv", csv("部门ID,名称", "1,甲局,乙局"))
    assert told == "row 2, column C: '乙局' stands in a column without a name"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("list.xls", b"\xd0\xcf\x11\xe0", "neither with .xlsx nor with .csv"),
        ("list.xlsx", b"", "no readable XLSX"),
        ("list.xlsx", b"PK\x03\x04 broken", "no readable XLSX"),
        ("list.xlsx", csv("部门ID,名称", "1,甲局"), "no readable XLSX"),
        ("list.csv", b"\xe9\x83\xa8\xff\xff\xff", "neither UTF-8 nor GBK"),
        ("list.csv", csv("部门ID,名称", '1,"甲局', "2,乙局"), "row 2: unexpected end of data"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_a_remedy(name: str, data: bytes, words: str) -> None:
    (told,) = errors(name, data)
    assert words in told
    assert name in told


def test_cycles_are_refused_with_their_chain() -> None:
    LocalDepartment.objects.create(dept_id=3, dept_name="丙局", parent_dept_id=1)
    told = errors("list.csv", csv("部门ID,名称,上级部门ID", "1,甲局,2", "2,乙局,3", "5,戊局,5", "6,己局,1"))
    assert told == [
        "row 2, column C (上级部门ID): the hierarchy would be a cycle: 1 -> 2 -> 3 -> 1",
        "row 4, column C (上级部门ID): the hierarchy would be a cycle: 5 -> 5",
    ]


def test_a_missing_parent_is_only_a_warning() -> None:
    LocalDepartment.objects.create(dept_id=90, dept_name="已有")
    plan = run("list.csv", csv("部门ID,名称,上级部门ID", "1,甲局,99", "2,乙局,99", "3,丙局,90", "4,丁局,1"))
    assert plan.warnings == ("parent 99 of 2 department(s) (1, 2) is neither in the file nor stored",)
    assert len(stored("dept_id")) == 5


def test_the_plan_shows_what_is_added_what_changes_from_what_to_what_and_what_is_not_in_the_file() -> None:
    run("list.csv", csv("部门ID,名称,简称,更新时间", "1,甲局,甲,2024-03-20", "2,乙局,乙,", "3,丙局,丙,"))
    plan = run("list.csv", csv("部门ID,名称,简称,更新时间", "1,甲局,,2024/3/21 8:05", "2,乙局,乙,", "4,丁局,丁,"))
    assert list(plan.lines()) == [
        "+ 4: dept_name 丁局, short_name 丁",
        "~ 1: short_name 甲 -> (empty), updated_at 2024-03-20 00:00:00 -> 2024-03-21 08:05:00",
        "= 3: 丙局 is not in the file and stays",
        "1 added, 1 changed, 1 unchanged, 1 not in the file",
    ]
    assert stored("dept_id", "short_name") == [(1, None), (2, "乙"), (3, "丙"), (4, "丁")]


def test_a_column_that_the_file_lacks_is_left_alone_and_an_empty_region_keeps_the_stored_one() -> None:
    run("list.csv", csv("部门ID,名称,简称,区域", "1,甲局,甲,阳山县"))
    run("list.csv", csv("部门ID,名称,区域", "1,甲局改名,"))
    assert stored("dept_name", "short_name", "region") == [("甲局改名", "甲", "阳山县")]


def test_a_second_import_changes_nothing_and_is_not_audited_again() -> None:
    data = xlsx([HEADER, (1, "甲局", None, 1, "A", "甲", "甲局", 1, 1, datetime(2024, 3, 20, 8, 30, 59, 999_700), None)])
    run("list.xlsx", data)
    plan = run("list.xlsx", data)
    assert (plan.added, plan.changed, plan.unchanged) == ((), {}, 1)
    assert AdminAuditLog.objects.filter(action="department.import").count() == 1


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    LocalDepartment.objects.create(dept_id=1, dept_name="旧名")
    data = csv("部门ID,名称", "1,新名", "2,乙局")
    dry = run("list.csv", data, dry_run=True)
    assert stored("dept_id", "dept_name") == [(1, "旧名")]
    assert not AdminAuditLog.objects.exists()
    assert list(run("list.csv", data).lines()) == list(dry.lines())
    assert stored("dept_id", "dept_name") == [(1, "新名"), (2, "乙局")]


def test_an_import_is_audited_with_a_digest_and_not_with_names() -> None:
    run("名单.csv", csv("部门ID,名称", "1,机密局"))
    entry = AdminAuditLog.objects.get(action="department.import")
    assert (entry.method, entry.resource_type, entry.path) == ("CLI", "local_department", "import_departments 名单.csv")
    assert entry.payload_digest
    assert len(entry.payload_digest) == 32


@pytest.mark.parametrize("cell", [datetime(2024, 1, 2), 1234567890123456.0])
def test_a_code_that_excel_has_turned_into_a_date_or_rounded_is_refused(cell: object) -> None:
    (told,) = errors("list.xlsx", xlsx([("部门ID", "编码"), (1, cell)]))
    assert "format the column as text" in told


def test_ids_up_to_the_databases_limit_are_kept_exactly() -> None:
    run("list.csv", csv("部门ID,名称", "9223372036854775807,甲局", "-1,虚拟节点"))
    assert stored("dept_id") == [(-1,), (9223372036854775807,)]
    told = errors_of_limit()
    assert told == ["row 2, column A (部门ID): 9223372036854775808 is beyond 9223372036854775807"]


def errors_of_limit() -> list[str]:
    with pytest.raises(ImportRefused) as refusal:
        run("list.csv", csv("部门ID,名称", "9223372036854775808,甲局"))
    return list(refusal.value.errors)


def test_a_hundred_thousand_departments_in_one_deep_line_are_imported() -> None:
    lines = [f"{n},部门{n},{n - 1 if n > 1 else ''},3" for n in range(1, 100_001)]
    plan = run("list.csv", csv("部门ID,名称,上级部门ID,级别", *lines, encoding="gbk"))
    assert len(plan.added) == LocalDepartment.objects.count() == 100_000
    again = run("list.csv", csv("部门ID,简称", *(f"{n},简{n}" for n in range(99_001, 100_001))))
    assert (len(again.changed), len(again.not_in_file)) == (1_000, 99_000)
    last = LocalDepartment.objects.get(dept_id=100_000)
    assert (last.dept_name, last.short_name, last.parent_dept_id) == ("部门100000", "简100000", 99_999)
