"""The two department commands as an operator runs them: output, exit status, nothing half-applied."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from departments.models import LocalDepartment
from tests.departments.files import csv


def told(command: str, *arguments: object, **options: Any) -> list[str]:
    out = StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=out, no_color=True, **options)
    return out.getvalue().splitlines()


@pytest.mark.django_db
def test_an_import_prints_its_plan_and_a_dry_run_says_that_it_was_one(tmp_path: Path) -> None:
    file = tmp_path / "oa.csv"
    file.write_bytes(csv("部门ID,名称,上级部门ID,备注", "1,甲局,5,x"))
    lines = told("import_departments", file, "--ignore", "备注", "--dry-run")
    assert lines == [
        "+ 1: dept_name 甲局, parent_dept_id 5",
        "WARNING parent 5 of 1 department(s) (1) is neither in the file nor stored",
        "1 added, 0 changed, 0 unchanged, 0 not in the file",
        "dry run: nothing was changed",
    ]
    assert not LocalDepartment.objects.exists()
    assert told("import_departments", file, "--ignore", "备注") == lines[:-1]
    assert LocalDepartment.objects.get().dept_name == "甲局"


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_file_that_is_not_there_ends_with_status_2(tmp_path: Path, kind: str) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "nothing.csv"
    with pytest.raises(CommandError, match="nothing was changed") as refusal:
        told("import_departments", path)
    assert refusal.value.returncode == 2
    assert str(path) in str(refusal.value)


@pytest.mark.django_db
def test_more_faults_than_fit_a_screen_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "oa.csv"
    file.write_bytes(csv("部门ID,名称", *["x,甲局"] * 150))
    with pytest.raises(CommandError) as refusal:
        told("import_departments", file)
    lines = str(refusal.value).splitlines()
    assert len(lines) == 102
    assert lines[-2:] == ["... and 50 more", f"150 fault(s) in {file}; nothing was changed."]


def test_a_refused_import_ends_the_process_with_status_2(run_manage: Any, tmp_path: Path) -> None:
    file = tmp_path / "oa.csv"
    file.write_bytes(csv("部门ID,名称", "1,甲局", "x,乙局"))
    ended = run_manage("import_departments", str(file))
    assert ended.returncode == 2
    assert "row 3, column A (部门ID): 'x' is not a whole number" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not LocalDepartment.objects.exists()


@pytest.mark.django_db
def test_a_backfill_prints_what_it_fills_the_counts_and_what_it_cannot_tell() -> None:
    LocalDepartment.objects.create(dept_id=1, dept_name="英德市财政局")
    LocalDepartment.objects.create(dept_id=2, dept_name="某处")
    expected = [
        "~ 1: region (empty) -> 英德市",
        "? 2: 某处 has no region by the rules",
        "英德市: 1",
        "1 filled, 0 unchanged, 1 unresolved",
    ]
    assert told("backfill_dept_region", dry_run=True) == [*expected, "dry run: nothing was changed"]
    assert LocalDepartment.objects.get(dept_id=1).region is None
    assert told("backfill_dept_region") == expected
    assert LocalDepartment.objects.get(dept_id=1).region == "英德市"
