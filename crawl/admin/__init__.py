"""The screens of crawling; the target screen of ``sources`` gets its run and cancel buttons here."""

from crawl.admin import health, history, job, ledger, queue, target

__all__ = ["health", "history", "job", "ledger", "queue", "target"]
