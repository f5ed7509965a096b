"""``manage.py worker``: a queue cluster that crawls until it is told to stop."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.db import OperationalError, connection
from django.utils import timezone
from django_q.cluster import Cluster
from django_q.models import Schedule

from crawl import health, jobs
from crawl.models import CrawlCluster

log = logging.getLogger(__name__)
TICK = "crawl.tasks.tick"


class StoppableCluster(Cluster):
    """Tells its running slices to stop at their next request before it waits for them (fault-model P3)."""

    def sig_handler(self, signum: int, frame: Any) -> None:
        connection.close()  # the handler may have cut into a query on the old connection
        try:
            CrawlCluster.objects.filter(cluster_id=os.environ[health.CLUSTER_VARIABLE]).update(stop=True)
        except OperationalError as error:
            log.error("the slices cannot be told to stop, they end with their time: %s", error)
        super().sig_handler(signum, frame)


class Command(BaseCommand):
    help = "Runs a crawl worker (a django-q cluster). SIGTERM or Ctrl-C: no new request starts, jobs give their hosts back."

    def handle(self, *args: Any, **options: Any) -> None:
        cluster_id = secrets.token_hex(16)
        os.environ[health.CLUSTER_VARIABLE] = cluster_id
        CrawlCluster.objects.filter(heartbeat_at__lt=timezone.now() - timedelta(days=1)).delete()
        CrawlCluster.objects.create(cluster_id=cluster_id, hostname=socket.gethostname(), pid=os.getpid())
        health.beat()
        for line in jobs.recover():
            self.stdout.write(f"recovered {line}")
        if not Schedule.objects.filter(func=TICK).exists():  # two of them, made at the same time, would do no harm
            Schedule.objects.create(func=TICK, name="tick", schedule_type=Schedule.MINUTES, minutes=1)
        jobs.ring()
        connection.close()  # nothing that holds a socket may cross the fork
        cluster = StoppableCluster()
        cluster.start()
        cluster.sentinel.join()
        connection.close()
        CrawlCluster.objects.filter(cluster_id=cluster_id).delete()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
