"""Words for what the machinery writes into rows as codes or plain English: shown in the reader's language, stored as it is."""

from __future__ import annotations

import re
from typing import Any

from django.apps import apps
from django.utils.translation import gettext_lazy as _

REASONS = (
    (r"weekend: waits until (?P<until>.+)", _("weekend: waits until %(until)s")),
    (r"outside the window: waits until (?P<until>.+)", _("outside the window: waits until %(until)s")),
    (
        r"daily cap of (?P<count>\d+) requests reached: waits until (?P<until>.+)",
        _("daily cap of %(count)s requests reached: waits until %(until)s"),
    ),
    (
        r"robots\.txt of (?P<host>\S+) cannot be read \(status (?P<status>\w+)\): waits",
        _("robots.txt of %(host)s cannot be read (status %(status)s): waits"),
    ),
    (r"the next request to (?P<host>\S+) is due in (?P<sec>\d+) s", _("the next request to %(host)s is due in %(sec)s s")),
    (
        r"host (?P<host>\S+) is busy or backed off from: waits for a request slot",
        _("host %(host)s is busy or backed off from: waits for a request slot"),
    ),
    (r"its worker died; goes on from the last page", _("its worker died; goes on from the last page")),
    (r"the list could not be fetched: (?P<why>.+)", _("the list could not be fetched: %(why)s")),
    (r"canceled while it waited", _("canceled while it waited")),
    (r"the worker died or hung", _("the worker died or hung")),
    (r"STORAGE_FULL: (?P<why>.+)", _("the content store is full: %(why)s")),
    (
        r"POISON: (?P<count>\d+) workers died or hung at page (?P<page>\d+) without finishing a page",
        _("%(count)s workers died or hung at page %(page)s without finishing a page: given up"),
    ),
)

ERRORS = {
    "CONNECT": _("no connection"),
    "TIMEOUT": _("no answer in time"),
    "DEADLINE": _("answer too slow"),
    "TRUNCATED": _("answer cut off"),
    "PROTOCOL": _("broken answer"),
    "TLS_ERROR": _("certificate or encryption fault"),
    "TOO_LARGE": _("too large"),
    "DECODE_LIMIT": _("too large when unpacked"),
    "UNSUPPORTED_CODING": _("unknown compression"),
    "TOO_MANY_REDIRECTS": _("too many redirects"),
    "BLOCKED_ADDRESS": _("address not allowed"),
    "HTTP_STATUS": _("refused by the server"),
    "RATE_LIMITED": _("server asks to slow down"),
    "ROBOTS": _("forbidden by robots.txt"),
    "BLOCK_PAGE": _("page of a firewall or login"),
    "SOFT_404": _("page says that it does not exist"),
    "EMPTY_BODY": _("empty answer"),
    "PARSE": _("page cannot be read: layout changed?"),
    "PARSE_LIMIT": _("page too complex"),
    "TYPE": _("file type not stored"),
    "STORAGE_FULL": _("content store full"),
    "STORAGE": _("content store fault"),
    "DB": _("database fault"),
    "POISON": _("kills its worker"),
    "CONFIG": _("wrong settings"),
}

ACTIONS = {
    "target.run": _("run a target"),
    "target.force_run": _("run a target anew"),
    "job.cancel": _("cancel a job"),
    "article.delete": _("delete an article"),
    "export.claim": _("claim articles"),
    "export.ack": _("acknowledge articles"),
    "export.ack.repeat": _("acknowledge articles again"),
    "sites.sync": _("read site files"),
    "department.import": _("import departments"),
    "department.region": _("set regions"),
    "key.create": _("create a key"),
    "key.revoke": _("revoke a key"),
    "login": _("log in"),
    "login.failed": _("failed login"),
    "logout": _("log out"),
}

VERBS = {"add": _("add"), "change": _("change"), "delete": _("delete"), "view": _("view")}
SCOPES = {"full": _("everything anew"), "incremental": _("what is new"), "backfill": _("back to the first article")}
DUPLICATES = {"native_id": _("the source gives both the same id")}


def in_words(text: str | None) -> str:
    """``text`` translated when its form is known, else as it was written; '-' for none."""
    if not text:
        return "-"
    for pattern, words in REASONS:
        if match := re.fullmatch(pattern, text, re.DOTALL):
            return str(words) % match.groupdict()
    code, colon, rest = text.partition(": ")
    return f"{ERRORS[code]}{colon}{rest}" if code in ERRORS else text


def action_in_words(action: str | None) -> str:
    """The action of an audit row; those that the middleware derives read ``<model>.<add, change or delete>``."""
    if not action or action in ACTIONS:
        return str(ACTIONS.get(action or "", "-"))
    model, _dot, verb = action.partition(".")
    return f"{VERBS.get(verb, verb)} {resource_in_words(model)}".strip()


def resource_in_words(kind: str | None) -> str:
    """``crawl_target`` or ``crawltarget``: the name of that model; else as it was written."""
    name = (kind or "").replace("_", "")
    return next((str(model._meta.verbose_name) for model in apps.get_models() if model._meta.model_name == name), kind or "")


def value_in_words(value: Any) -> str:
    """A value of a change record, as auditlog writes it."""
    return {"None": "-", "": "-", "True": str(_("True")), "False": str(_("False"))}.get(str(value), str(value))
