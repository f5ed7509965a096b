"""Settings, from the environment only. README.md documents each name; ``.env`` in this folder is read when it exists."""

from __future__ import annotations

from pathlib import Path

import environ
from django.utils.translation import gettext_lazy as _

from govcrawler import theme
from govcrawler.environment import database, positive, secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.read_env(BASE_DIR / ".env")

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = secret_key(env, DEBUG)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = env.bool("HTTPS", default=not DEBUG)
TRUSTED_PROXIES = positive(env, "TRUSTED_PROXIES", 0, zero=True)

STATE_DIR = Path(env.str("STATE_DIR", default=str(BASE_DIR / ".var"))).resolve()
CONTENT_DIR = Path(env.str("CONTENT_DIR", default=str(STATE_DIR / "content"))).resolve()
SITES_DIR = Path(env.str("SITES_DIR", default=str(BASE_DIR / "deploy" / "sites"))).resolve()

DATABASES = {"default": database(env, STATE_DIR / "govcrawler.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMBEDDED = DATABASES["default"]["ENGINE"].endswith("sqlite3")

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_q",
    "auditlog",
    "govcrawler.audit",
    "govcrawler.access",
    "departments",
    "sources",
    "articles",
    "crawl",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "govcrawler.language.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "govcrawler.security.ContentSecurityPolicyMiddleware",
    "auditlog.middleware.AuditlogMiddleware",
    "govcrawler.audit.middleware.AuditMiddleware",
]

ROOT_URLCONF = "govcrawler.urls"
WSGI_APPLICATION = "govcrawler.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = env.str("LANGUAGE_CODE", default="zh-hans")
LANGUAGES = [("zh-hans", _("Simplified Chinese")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "govcrawler" / "locale"]
TIME_ZONE = "Asia/Shanghai"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = STATE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True

# Secure by default outside debug; HTTPS=0 is for a machine that serves only itself.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = HTTPS and env.bool("SSL_REDIRECT", default=True)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = positive(env, "HSTS_SECONDS", 31_536_000, zero=True) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE_HSTS_SECONDS > 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "SAMEORIGIN"
LOGIN_URL = "admin:login"

UNFOLD = theme.UNFOLD
AUDITLOG_DISABLE_REMOTE_ADDR = True  # it would believe any X-Forwarded-For; our own audit row has the address
AUDITLOG_INCLUDE_TRACKING_MODELS = theme.AUDITLOG_INCLUDE_TRACKING_MODELS

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["govcrawler.access.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["govcrawler.access.permissions.HasRequiredScope"],
    "DEFAULT_THROTTLE_CLASSES": ["govcrawler.access.throttling.ApiKeyThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "govcrawler.access.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "NUM_PROXIES": TRUSTED_PROXIES,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GovCrawler API",
    "DESCRIPTION": "Articles of government sites with every revision and deletion, for RAG systems.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
}

# The task queue is the doorbell only: attempts, leases and results live in our own tables (design, section 6).
BROKER_URL = env.str("BROKER_URL", default="")
Q_CLUSTER: dict[str, object] = {
    "name": "govcrawler",
    "label": _("Task queue"),
    "workers": positive(env, "CRAWL_WORKERS", 1 if EMBEDDED else 2),
    "timeout": 300,
    "retry": 900,
    "queue_limit": 1,
    "bulk": 1,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "recycle": 100,
    "max_rss": 600_000,
    "catch_up": False,
    "poll": 1,
    "guard_cycle": 1,
}
Q_CLUSTER.update({"redis": BROKER_URL} if BROKER_URL else {"orm": "default"})

CRAWL = {
    "user_agent": env.str("CRAWL_USER_AGENT", default="GovCrawler/0.1"),
    "contact": env.str("CRAWL_CONTACT", default=""),
    "interval_sec": positive(env, "CRAWL_INTERVAL_SEC", 3, zero=True),
    "interval_jitter_sec": positive(env, "CRAWL_INTERVAL_JITTER_SEC", 2, zero=True),
    "backoff_min_sec": positive(env, "CRAWL_BACKOFF_MIN_SEC", 60),
    "backoff_max_sec": positive(env, "CRAWL_BACKOFF_MAX_SEC", 3600),
    "slice_seconds": positive(env, "CRAWL_SLICE_SECONDS", 120),
    "hosts_per_worker": positive(env, "CRAWL_HOSTS_PER_WORKER", 8 if EMBEDDED else 32),
    "lease_seconds": positive(env, "CRAWL_LEASE_SECONDS", 120),
    "max_attempts": positive(env, "CRAWL_MAX_ATTEMPTS", 5),
    "allow_addresses": env.str("CRAWL_ALLOW_ADDRESSES", default=""),
    "ca_file": env.str("CRAWL_CA_FILE", default=""),
}

LOG_JSON = env.bool("LOG_JSON", default=not DEBUG)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "govcrawler.logs.JsonFormatter"},
        "plain": {"()": "govcrawler.logs.PlainFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json" if LOG_JSON else "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {name: {"level": "WARNING"} for name in ("httpx", "httpcore", "django-q")},
}
