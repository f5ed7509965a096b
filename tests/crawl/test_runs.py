"""The receipt of a job attempt: sums that match, bounded messages, and final once it is closed."""

from __future__ import annotations

import pytest
from django.utils import timezone

from crawl import runs
from crawl.models import CrawlRun
from crawl.runs import KINDS, MESSAGES_KEPT, Receipt
from tests import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def receipt() -> Receipt:
    target = rows.target()
    return runs.open_run(rows.job(target_code=target.target_code), target)


def stored() -> CrawlRun:
    return CrawlRun.objects.get()


def test_every_row_is_counted_once_under_its_kind_and_reason(receipt: Receipt) -> None:
    for kind in KINDS:
        receipt.row(kind, "robots" if kind == "skipped" else "")
    receipt.row("skipped", "robots")
    receipt.save()
    assert stored().discovered == 7 and receipt.balanced
    assert [getattr(stored(), kind) for kind in KINDS] == [1, 1, 1, 1, 2, 1]
    assert stored().metrics_json == {"reasons": {"skipped:robots": 2}}


@pytest.mark.parametrize(
    ("rows_seen", "extra", "status"),
    [(["inserted", "known"], 0, "succeeded"), (["inserted", "failed"], 0, "partial"), (["inserted"], 1, "partial")],
)
def test_a_success_with_failed_rows_or_sums_that_do_not_match_is_partial(
    receipt: Receipt, rows_seen: list[str], extra: int, status: str
) -> None:
    for kind in rows_seen:
        receipt.row(kind)
    receipt.run.discovered += extra
    receipt.finish("succeeded")
    assert (stored().status, stored().finished_at is None) == (status, False)


def test_messages_are_kept_up_to_a_number_and_warnings_once(receipt: Receipt) -> None:
    for number in range(MESSAGES_KEPT + 50):
        receipt.error(f"http://x.example/{number}", "m" * 1000)
        receipt.warn("the same")
        receipt.warn(f"warning {number}")
    receipt.save()
    assert len(stored().errors_json) == len(stored().warnings_json) == MESSAGES_KEPT
    assert len(stored().errors_json[0]["error"]) == 500
    assert stored().warnings_json[:2] == ["the same", "warning 0"]


def test_a_job_goes_on_with_its_open_run_and_a_closed_one_is_not_opened_again(receipt: Receipt) -> None:
    receipt.row("skipped", "hidden")
    receipt.warn("odd")
    receipt.save()
    target, job = rows.target(), rows.job(run_id=receipt.run.pk)
    again = runs.open_run(job, target)
    assert (again.run.pk, again.reasons, again.warnings) == (receipt.run.pk, {"skipped:hidden": 1}, ["odd"])
    again.finish("succeeded")
    assert runs.open_run(job, target).run.pk != receipt.run.pk


def test_a_late_worker_does_not_change_a_run_that_was_closed_for_it(receipt: Receipt) -> None:
    receipt.row("inserted")
    receipt.save()
    assert receipt.run.job_id
    runs.close_left_open(receipt.run.job_id, "failed", "the worker died or hung")
    closed = stored()
    receipt.row("inserted")
    receipt.save()
    receipt.finish("succeeded")
    assert (stored().status, stored().finished_at, stored().inserted) == ("failed", closed.finished_at, 1)
    assert stored().errors_json == [{"url": "", "error": "the worker died or hung"}]


@pytest.mark.parametrize(
    ("force", "completed", "scope"), [(False, False, "backfill"), (False, True, "incremental"), (True, True, "full")]
)
def test_the_scope_says_what_the_run_was_for(force: bool, completed: bool, scope: str) -> None:
    target = rows.target(backfill_completed_at=timezone.now() if completed else None)
    assert runs.open_run(rows.job(force=force), target).run.scope == scope
