"""Chinese unless somebody chose otherwise: the admin ignores the browser's language list, the API answers in English."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation

API_PREFIX = "/api/"


class LanguageMiddleware:
    """Activates the language of the cookie, else the default. English for the API, whose errors programs read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        known = chosen if chosen in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        language = "en" if request.path.startswith(API_PREFIX) else known
        with translation.override(language):
            request.LANGUAGE_CODE = language
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", language)
            return response
