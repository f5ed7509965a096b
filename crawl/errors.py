"""Why a request, a page or a job failed: one closed list of classes and one exception that carries them.

FetchError
  error_class   one of ErrorClass
  retryable     whether trying again later can help
  retry_after   seconds the server asked for, or None
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sources.adapters.base import Response


class ErrorClass(StrEnum):
    """The closed list of fault-model A0..A4 (A3b settles the readings)."""

    CONNECT = "CONNECT"
    TIMEOUT = "TIMEOUT"
    DEADLINE = "DEADLINE"
    TRUNCATED = "TRUNCATED"
    PROTOCOL = "PROTOCOL"
    TLS_ERROR = "TLS_ERROR"
    TOO_LARGE = "TOO_LARGE"
    DECODE_LIMIT = "DECODE_LIMIT"
    UNSUPPORTED_CODING = "UNSUPPORTED_CODING"
    TOO_MANY_REDIRECTS = "TOO_MANY_REDIRECTS"
    BLOCKED_ADDRESS = "BLOCKED_ADDRESS"
    HTTP_STATUS = "HTTP_STATUS"
    RATE_LIMITED = "RATE_LIMITED"
    ROBOTS = "ROBOTS"
    BLOCK_PAGE = "BLOCK_PAGE"
    SOFT_404 = "SOFT_404"
    EMPTY_BODY = "EMPTY_BODY"
    PARSE = "PARSE"
    PARSE_LIMIT = "PARSE_LIMIT"
    TYPE = "TYPE"
    STORAGE_FULL = "STORAGE_FULL"
    STORAGE = "STORAGE"
    DB = "DB"
    POISON = "POISON"
    CONFIG = "CONFIG"


RETRYABLE = frozenset(
    {
        ErrorClass.CONNECT,
        ErrorClass.TIMEOUT,
        ErrorClass.DEADLINE,
        ErrorClass.TRUNCATED,
        ErrorClass.PROTOCOL,
        ErrorClass.RATE_LIMITED,
        ErrorClass.BLOCK_PAGE,
        ErrorClass.EMPTY_BODY,
        ErrorClass.STORAGE_FULL,
        ErrorClass.STORAGE,
        ErrorClass.DB,
    }
)


class FetchError(Exception):
    """A request that gave no usable answer. ``url`` is the one that failed, ``chain`` the redirects before it.

    ``response`` is the refusing answer (status 400 and above) with the beginning of its body, so that block pages can be told
    apart; None when no answer came.
    """

    def __init__(
        self,
        error_class: ErrorClass,
        message: str,
        *,
        url: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        chain: tuple[str, ...] = (),
        response: Response | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.message = message
        self.url = url
        self.status = status
        self.retry_after = retry_after
        self.chain = chain
        self.response = response

    @property
    def retryable(self) -> bool:
        """HTTP 5xx is retryable, 4xx is not; the other classes by the table above."""
        if self.error_class is ErrorClass.HTTP_STATUS:
            return self.status is not None and self.status >= 500
        return self.error_class in RETRYABLE

    def __str__(self) -> str:
        return f"{self.error_class.value}: {self.message}"
