"""The schema as the seed document gives it (its sections 2, 3 and 7), typed by hand.

A line of a table reads ``column TYPE [AUTO] [PK] [NOT NULL] [DEFAULT value]``; what is not called NOT NULL is nullable.
Where the migrated schema differs, ``schema_departures`` says so with the reason; whatever is in neither file fails the test.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column in the seed's words: ``type`` as printed there, ``default`` as SQL or ``NOW``."""

    type: str
    null: bool
    default: str | None
    auto: bool


def parse(block: str) -> dict[str, Column]:
    """Columns by name, in the order of the lines; a text after ``#`` is a reason and no part of the column."""
    columns = {}
    for line in block.strip().splitlines():
        name, kind, *rest = line.partition("#")[0].split()
        words = " ".join(rest)
        default = rest[rest.index("DEFAULT") + 1] if "DEFAULT" in rest else None
        columns[name] = Column(kind, "NOT NULL" not in words and "PK" not in rest, default, "AUTO" in rest)
    return columns


def reasons(block: str) -> dict[str, str]:
    """The reason of each line, by column."""
    return {line.split()[0]: line.partition("#")[2].strip() for line in block.strip().splitlines()}


TABLES: dict[str, str] = {
    "crawl_site": """
        id BIGINT AUTO PK
        site_code VARCHAR(50) NOT NULL
        site_name VARCHAR(200)
        base_url VARCHAR(500)
        site_role VARCHAR(50)
        cms_adapter VARCHAR(50)
        adapter_params_json JSON
        default_fetch_strategy VARCHAR(50)
        strategy_override_reason VARCHAR(200)
        respect_robots BOOLEAN DEFAULT TRUE
        yaml_path VARCHAR(500)
        managed_by VARCHAR(10) DEFAULT 'yaml'
        enabled BOOLEAN DEFAULT TRUE
        remark VARCHAR(500)
        crawl_window_start TIME
        crawl_window_end TIME
        daily_max_requests INT
        weekend_enabled BOOLEAN DEFAULT TRUE
        backoff_min_sec INT
        backoff_max_sec INT
        schedule_cron VARCHAR(100)
        created_at DATETIME DEFAULT NOW
        updated_at DATETIME DEFAULT NOW
    """,
    "site_department": """
        id BIGINT AUTO PK
        site_id BIGINT NOT NULL
        dept_path VARCHAR(100) NOT NULL
        local_dept_id BIGINT
        dept_binding VARCHAR(20) DEFAULT 'pending'
        dept_display_name VARCHAR(200)
        detect_status VARCHAR(20) DEFAULT 'pending'
        last_probed_at DATETIME
        last_classify_json JSON
        enabled BOOLEAN DEFAULT TRUE
        created_at DATETIME DEFAULT NOW
        updated_at DATETIME DEFAULT NOW
    """,
    "crawl_target": """
        id BIGINT AUTO PK
        site_id BIGINT NOT NULL
        site_department_id BIGINT
        target_code VARCHAR(100) NOT NULL
        target_name VARCHAR(200)
        entry_url VARCHAR(1000)
        sample_article_url VARCHAR(1000)
        dept_id BIGINT
        parser_override_json JSON
        channel_name VARCHAR(200)
        channel_path VARCHAR(1000)
        content_category VARCHAR(100)
        content_subcategory VARCHAR(100)
        schedule_cron VARCHAR(100)
        expected_cadence_days INT DEFAULT 30
        interval_sec INT
        interval_jitter_sec INT
        track_checkpoint BOOLEAN DEFAULT FALSE
        enabled BOOLEAN DEFAULT TRUE
        last_crawled_at DATETIME
        last_article_time DATETIME
        created_at DATETIME DEFAULT NOW
        updated_at DATETIME DEFAULT NOW
    """,
    "local_department": """
        dept_id BIGINT PK
        dept_name VARCHAR(250)
        parent_dept_id BIGINT
        dept_level INT
        dept_code VARCHAR(250)
        short_name VARCHAR(50)
        full_name VARCHAR(500)
        state INT
        order_id INT
        updated_at DATETIME
        region VARCHAR(50)
    """,
    "article": """
        id BIGINT AUTO PK
        site_id BIGINT NOT NULL
        target_id BIGINT
        dept_id BIGINT
        native_post_id VARCHAR(64)
        url TEXT NOT NULL
        url_hash CHAR(64) NOT NULL
        title TEXT
        publish_time DATETIME
        source_raw VARCHAR(500)
        index_no VARCHAR(200)
        doc_no VARCHAR(200)
        publisher VARCHAR(500)
        publish_date DATE
        effective_date DATE
        is_effective BOOLEAN
        expiry_date DATE
        topic_words VARCHAR(500)
        open_category VARCHAR(200)
        content_category VARCHAR(100)
        content_subcategory VARCHAR(100)
        channel_name VARCHAR(200)
        channel_path VARCHAR(1000)
        metadata_json JSON
        content_text TEXT
        raw_html_path TEXT
        text_path TEXT
        has_attachment BOOLEAN
        status VARCHAR(20)
        fetch_strategy VARCHAR(50)
        fetched_at DATETIME
        created_at DATETIME
        updated_at DATETIME
        exported_to_rag_at DATETIME
        rag_export_status VARCHAR(20)
        rag_export_started_at DATETIME
        rag_export_finished_at DATETIME
        rag_export_error TEXT
        rag_export_task_ids JSON
    """,
    "article_standard_meta": """
        id BIGINT AUTO PK
        article_id BIGINT NOT NULL
        standard_no VARCHAR(100)
        chinese_title TEXT
        english_title TEXT
        standard_status VARCHAR(100)
        ccs_codes JSON
        ics_codes JSON
        publish_date DATE
        implementation_date DATE
        competent_department VARCHAR(500)
        technical_committee VARCHAR(500)
        issuing_body VARCHAR(500)
        standard_type VARCHAR(100)
        raw_meta_json JSON
        created_at DATETIME DEFAULT NOW
        updated_at DATETIME DEFAULT NOW
    """,
    "attachment": """
        id BIGINT AUTO PK
        article_id BIGINT NOT NULL
        file_name TEXT
        file_ext VARCHAR(20)
        size_bytes BIGINT
        file_path TEXT
        file_hash CHAR(64)
        downloaded_at DATETIME DEFAULT NOW
    """,
    "crawl_log": """
        id BIGINT AUTO PK
        site_id BIGINT
        target_id BIGINT
        article_url TEXT
        strategy VARCHAR(50)
        http_status INT
        duration_ms INT
        success BOOLEAN NOT NULL
        error_msg TEXT
        occurred_at DATETIME DEFAULT NOW
    """,
    "master_column_registry": """
        id BIGINT AUTO PK
        adapter_id VARCHAR(50) NOT NULL
        site_id BIGINT NOT NULL
        column_id VARCHAR(64) NOT NULL
        column_name VARCHAR(500)
        column_path VARCHAR(1000)
        admin_level VARCHAR(20)
        topic_tags JSON
        post_count INT
        last_seen_at DATETIME
        subscribed_target_id BIGINT
        active BOOLEAN DEFAULT TRUE
        created_at DATETIME DEFAULT NOW
        updated_at DATETIME DEFAULT NOW
    """,
    "crawl_job": """
        job_id VARCHAR(32) PK
        host VARCHAR(255) NOT NULL
        site_code VARCHAR(64) NOT NULL
        target_code VARCHAR(128) NOT NULL
        source VARCHAR(20) NOT NULL
        status VARCHAR(20) NOT NULL
        force BOOLEAN DEFAULT FALSE
        stop_requested BOOLEAN DEFAULT FALSE
        attempt_count INT DEFAULT 0
        last_completed_page INT DEFAULT 0
        current_page INT DEFAULT 0
        enqueued_at DATETIME DEFAULT NOW
        started_at DATETIME
        finished_at DATETIME
        error_msg TEXT
        result_json JSON
    """,
    "admin_audit_log": """
        id BIGINT AUTO PK
        created_at DATETIME DEFAULT NOW
        actor VARCHAR(64)
        actor_ip VARCHAR(64)
        method VARCHAR(8) NOT NULL
        path VARCHAR(500) NOT NULL
        status_code INT
        duration_ms INT
        payload_digest VARCHAR(32)
        action VARCHAR(64)
        resource_type VARCHAR(32)
        resource_id VARCHAR(128)
    """,
}

#: Unique keys by table and name. The two in column notation have no name in the seed: see UNNAMED_KEYS.
UNIQUES: dict[str, dict[str, tuple[str, ...]]] = {
    "crawl_site": {"UNIQUE(site_code)": ("site_code",)},
    "site_department": {"uq_site_department_path": ("site_id", "dept_path")},
    "crawl_target": {"UNIQUE(target_code)": ("target_code",)},
    "article": {"uq_article_url_hash": ("url_hash",), "uq_article_site_native": ("site_id", "native_post_id")},
    "article_standard_meta": {"uq_article_standard_meta_article": ("article_id",)},
    "master_column_registry": {"uq_mcr_adapter_site_col": ("adapter_id", "site_id", "column_id")},
}

INDEXES: dict[str, dict[str, tuple[str, ...]]] = {
    "local_department": {"INDEX(region)": ("region",)},
    "article": {
        "ix_article_site_pub": ("site_id", "publish_time"),
        "ix_article_target_pub": ("target_id", "publish_time"),
        "ix_article_exported": ("exported_to_rag_at",),
        "ix_article_rag_export_status": ("rag_export_status",),
        "ix_article_status": ("status",),
        "ix_article_is_effective": ("is_effective",),
        "ix_article_expiry_date": ("expiry_date",),
    },
    "article_standard_meta": {
        "ix_standard_meta_standard_no": ("standard_no",),
        "ix_standard_meta_publish_date": ("publish_date",),
        "ix_standard_meta_implementation_date": ("implementation_date",),
    },
    "attachment": {"ix_attachment_file_hash": ("file_hash",)},
    "crawl_log": {
        "ix_crawl_log_site_occurred": ("site_id", "occurred_at"),
        "ix_crawl_log_target_occurred": ("target_id", "occurred_at"),
    },
    "crawl_job": {
        "ix_crawl_job_host": ("host",),
        "ix_crawl_job_site_code": ("site_code",),
        "ix_crawl_job_target_code": ("target_code",),
        "ix_crawl_job_status": ("status",),
        "ix_crawl_job_status_enqueued": ("status", "enqueued_at"),
    },
    "admin_audit_log": {
        "ix_audit_created_at": ("created_at",),
        "ix_audit_actor": ("actor",),
        "ix_audit_action": ("action",),
        "ix_audit_actor_created": ("actor", "created_at"),
    },
}

CHECKS: dict[str, dict[str, frozenset[str]]] = {
    "crawl_site": {
        "ck_crawl_site_adapter_xor_yaml": frozenset({"cms_adapter", "yaml_path"}),
        "ck_crawl_site_managed_by": frozenset({"managed_by"}),
    },
    "site_department": {
        "ck_site_department_binding": frozenset({"dept_binding"}),
        "ck_site_department_binding_local_dept": frozenset({"dept_binding", "local_dept_id"}),
    },
    "article": {"ck_article_status": frozenset({"status"})},
}

#: table -> column -> (referenced table, its column, ON DELETE of the seed's section 3)
FOREIGN_KEYS: dict[str, dict[str, tuple[str, str, str]]] = {
    "site_department": {
        "site_id": ("crawl_site", "id", "CASCADE"),
        "local_dept_id": ("local_department", "dept_id", "SET NULL"),
    },
    "crawl_target": {
        "site_id": ("crawl_site", "id", "CASCADE"),
        "site_department_id": ("site_department", "id", "CASCADE"),
        "dept_id": ("local_department", "dept_id", "SET NULL"),
    },
    "article": {
        "site_id": ("crawl_site", "id", "RESTRICT"),
        "target_id": ("crawl_target", "id", "SET NULL"),
        "dept_id": ("local_department", "dept_id", "SET NULL"),
    },
    "article_standard_meta": {"article_id": ("article", "id", "CASCADE")},
    "attachment": {"article_id": ("article", "id", "CASCADE")},
    "crawl_log": {
        "site_id": ("crawl_site", "id", "SET NULL"),
        "target_id": ("crawl_target", "id", "SET NULL"),
    },
    "master_column_registry": {
        "site_id": ("crawl_site", "id", "CASCADE"),
        "subscribed_target_id": ("crawl_target", "id", "SET NULL"),
    },
}
