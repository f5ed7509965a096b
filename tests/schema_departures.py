"""Where the migrated schema differs from the seed: the closed list, each entry with its reason.

Not listed because the seed does not speak of it: the order of columns (Django puts foreign keys last; readers name columns) and
the names of foreign keys.
"""

from __future__ import annotations

#: seed type -> (column type MariaDB shows, column type SQLite shows, reason where MariaDB's is not the seed's)
TYPES: dict[str, tuple[str, str, str]] = {
    "BIGINT": ("bigint(20)", "bigint", ""),
    "INT": ("int(11)", "integer", ""),
    "BOOLEAN": ("tinyint(1)", "bool", ""),
    "DATE": ("date", "date", ""),
    "CHAR(64)": ("char(64)", "char(64)", ""),
    "TEXT": ("longtext", "text", "Django's text column; a body or an error longer than 64 kB is not cut"),
    "DATETIME": ("datetime(6)", "datetime", "leases and cursors compare moments within one second"),
    "TIME": ("time(6)", "time", "Django's time column"),
    "JSON": ("longtext", "text", "MariaDB's JSON is longtext in utf8mb4_bin with a json_valid CHECK; SQLite checks the same"),
}
#: SQLite counts up only a column declared INTEGER PRIMARY KEY.
SQLITE_AUTO = "integer"

NOT_NULL_WITH_DEFAULT = "a column with a default is NOT NULL: its default says what an absent value means"
NULLABLE_WITH_DEFAULT: dict[tuple[str, str], str] = {
    ("attachment", "downloaded_at"): "a file that is pending, skipped or failed was not downloaded",
}

#: Columns of the seed that are not in its table.
MOVED_COLUMNS: dict[tuple[str, str], str] = {
    ("article", "content_text"): "in article_content, 1:1: with bodies inline a list page took 27 s at 1 M rows; "
    "the view article_with_text has the seed's columns",
}

#: Text compared byte by byte (utf8mb4_bin on MariaDB): under unicode_ci A = a and all emoji are one, also in unique keys.
BINARY_COLUMNS: dict[str, tuple[str, ...]] = {
    "crawl_site": ("site_code", "cms_adapter"),
    "site_department": ("dept_path",),
    "crawl_target": ("target_code",),
    "article": ("native_post_id", "url_hash", "content_hash", "title_time_hash"),
    "attachment": ("file_hash", "url_hash"),
    "master_column_registry": ("adapter_id", "column_id"),
    "crawl_job": ("job_id", "site_code", "target_code", "active_key", "lease_token", "queue"),
}

#: What the database itself does on delete: it refuses. The seed's rules run in Django, which also resets bindings.
DATABASE_DELETE_RULE = {"mysql": "RESTRICT", "sqlite": "NO ACTION"}

ADDED_COLUMNS: dict[str, str] = {
    "crawl_site": """
        verify_tls BOOLEAN NOT NULL DEFAULT TRUE # a site with a broken certificate is crawled only when somebody says so
        egress_proxy VARCHAR(500) # some sites are reached only through a proxy of the city
    """,
    "crawl_target": """
        backfill_completed_at DATETIME # an early stop is allowed only after a pass has reached the end
        next_due_at DATETIME # the tick moves it by compare-and-swap, so a due run is enqueued once
    """,
    "article": """
        canonical_url TEXT # what url_hash is the hash of
        url_rule INT # version of the canonical form
        publish_precision VARCHAR(8) NOT NULL DEFAULT 'none' # a day without a time is not midnight
        content_hash CHAR(64) # tells a new version
        title_time_hash CHAR(64) # finds one article under two URLs
        duplicate_of_id BIGINT # kept, but not served twice
        duplicate_reason VARCHAR(40) # why it is held a duplicate
        parser_version VARCHAR(64) # which reparse an article still needs
        word_count INT # 0 no text layer, -1 failed
        change_seq BIGINT # the cursor of /changes
        current_revision_id BIGINT # what claims and acks speak of
        markdown_path TEXT # Markdown in the content store
        last_checked_at DATETIME # when the source was last asked
    """,
    "attachment": """
        source_url TEXT # a file can be pending or failed before it has a path
        url_hash CHAR(64) # one row for one file of an article
        position INT NOT NULL DEFAULT 0 # order on the page
        mime VARCHAR(127) # type by content
        status VARCHAR(20) NOT NULL DEFAULT 'pending' # pending, done, skipped, failed
        error_class VARCHAR(32) # why it is not done
        attempts INT NOT NULL DEFAULT 0 # tries so far
        next_retry_at DATETIME # when it is due again
        text_path TEXT # extracted text in the content store
        word_count INT # 0 no text layer, -1 failed
        parser_version VARCHAR(64) # version of the text extraction
    """,
    "crawl_job": """
        active_key VARCHAR(128) # one active job for a target; NULL once finished
        not_before DATETIME # a waiting job's next try
        wait_reason VARCHAR(200) # why it waits, for people
        heartbeat_at DATETIME # a dead worker's job is taken back
        lease_token VARCHAR(32) # fences writes of a worker that lost its lease
        cursor TEXT # checkpoint of lists without page numbers
        scheduled_for DATETIME # one job for one due time
        run_id BIGINT # the run of the current attempt
        queue VARCHAR(16) NOT NULL DEFAULT 'crawl' # jobs that need a browser have workers of their own
    """,
}

#: Keys the seed gives without a name: seed notation -> name on MariaDB. SQLite names column constraints itself.
UNNAMED_KEYS: dict[str, str] = {
    "UNIQUE(site_code)": "site_code",
    "UNIQUE(target_code)": "target_code",
    "UNIQUE(change_seq)": "change_seq",
    "INDEX(region)": "ix_local_department_region",
}

ADDED_UNIQUES: dict[str, dict[str, tuple[str, ...]]] = {
    "article": {"UNIQUE(change_seq)": ("change_seq",)},
    "attachment": {"uq_attachment_article_url": ("article_id", "url_hash")},
    "crawl_job": {"uq_crawl_job_active": ("active_key",), "uq_crawl_job_scheduled": ("target_code", "scheduled_for")},
}

ADDED_INDEXES: dict[str, dict[str, tuple[str, ...]]] = {
    "crawl_target": {"ix_crawl_target_due": ("enabled", "next_due_at")},
    "article": {
        # with the index on status alone the ready query took 100 s at 1 M rows
        "ix_article_ready_exported": ("status", "exported_to_rag_at", "change_seq"),
        "ix_article_ready_rag": ("status", "rag_export_status", "id"),
        # lists in the admin and the API, and their filters
        "ix_article_pub": ("publish_time", "id"),
        "ix_article_doc_no": ("doc_no",),
        "ix_article_index_no": ("index_no",),
    },
    "attachment": {"ix_attachment_retry": ("status", "next_retry_at")},
    # the job lists of the admin and the API
    "crawl_job": {"ix_crawl_job_enqueued": ("enqueued_at", "job_id")},
}

#: Foreign keys that no seed index leads with have an index of their own: InnoDB demands one, Django makes it on SQLite too.
FOREIGN_KEY_INDEXES: dict[str, tuple[str, ...]] = {
    "site_department": ("local_dept_id",),
    "crawl_target": ("site_id", "site_department_id", "dept_id"),
    "article": ("dept_id", "duplicate_of_id"),
    "master_column_registry": ("site_id", "subscribed_target_id"),
}

ADDED_FOREIGN_KEYS: dict[str, dict[str, tuple[str, str, str]]] = {
    "article": {"duplicate_of_id": ("article", "id", "SET NULL")},
}

ADDED_TABLES: dict[str, str] = {
    "article_content": "bodies out of the listing table",
    "article_listing": "further columns that list an article",
    "article_revision": "every version, what claims and acks speak of",
    "tombstone": "what stays of a deleted article",
    "change_counter": "change numbers in commit order",
    "consumer_cursor": "how far a consumer has claimed",
    "consumer_state": "claims, acknowledgements and failures by consumer",
    "crawl_host": "lease, pace, back-off and robots.txt of a host",
    "crawl_cluster": "running workers and their heartbeat",
    "crawl_site_day": "requests of a site and day, for the daily cap",
    "crawl_host_day": "the politeness ledger: what was asked of a host on a day",
    "crawl_field_coverage": "how many articles of a run had each field",
    "crawl_alarm": "what a person must look at",
    "crawl_run": "the receipt of one job attempt",
    "crawl_failure": "list rows whose article could not be had",
    "source_health": "state of a target as its runs tell it",
    "api_key": "keys of API clients",
    "api_key_usage": "their requests by minute and day",
}

ADDED_VIEWS = {"mysql": {"article_with_text"}, "sqlite": set()}  # on SQLite a view blocks later table changes

#: Tables of Django and of the libraries, by prefix.
LIBRARY_TABLES = ("auth_", "django_", "auditlog_", "sqlite_")
