"""The screens of crawling; the target screen of ``sources`` gets its run and cancel buttons here."""

from crawl.admin import history, job, queue, target

__all__ = ["history", "job", "queue", "target"]
