"""``make demo``: the whole product on the bundled government site, on the embedded database.

Sets up the database, serves the site, runs a worker and the web server, crawls every column, checks what was stored against the
site's own manifest, and keeps serving until Ctrl-C. State is in ``.var/demo`` and is used again; ``--fresh`` empties it.
``--once`` ends after the check: status 0 when everything equals the manifest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".var" / "demo"
MANIFEST = STATE / "manifest.json"
SITE_FILES = ("demo", "demo_gkmlpt", "demo_rules")
WRITTEN_PORTS = (18101, 18102, 18103)
CRAWL_SECONDS = 600


class DemoFailed(Exception):
    """A step of the demo failed; the message says which."""


class Processes:
    """What the demo started. Each has a process group of its own, so that nothing outlives the demo."""

    def __init__(self) -> None:
        self.running: list[tuple[str, subprocess.Popen[str]]] = []

    def start(self, name: str, command: list[str], env: dict[str, str], *, piped: bool = False) -> subprocess.Popen[str]:
        with (STATE / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE if piped else log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.running.append((name, process))
        return process

    def check(self) -> None:
        for name, process in self.running:
            if process.poll() is not None:
                raise DemoFailed(f"{name} ended with status {process.returncode}: see {STATE / f'{name}.log'}")

    def stop(self) -> None:
        """TERM to each leader, the worker first; whatever is left of a group after its grace is killed."""
        for _, process in reversed(self.running):
            process.terminate()
        for _, process in reversed(self.running):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(40)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--once", action="store_true", help="end after the check, with status 0 when it holds")
    parser.add_argument("--fresh", action="store_true", help="begin with an empty database")
    parser.add_argument("--crawl-delay", type=float, default=0.2, help="what the site's robots.txt asks for, seconds")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    processes = Processes()
    try:
        return demo(processes, options)
    except KeyboardInterrupt:
        say("Stopping.")
        return 130 if options.once else 0
    except DemoFailed as error:
        print(f"demo failed: {error}", file=sys.stderr)
        return 1
    finally:
        processes.stop()


def demo(processes: Processes, options: argparse.Namespace) -> int:
    ports = prepare(options.fresh)
    env = environment(ports)
    say("Database, departments and sites:")
    manage(env, "migrate", "--verbosity", "0")
    serve_site(processes, env, ports, options.crawl_delay)
    manage(env, "import_departments", "deploy/demo/departments.csv")
    manage(env, "sync_sites")
    password, key = credentials(env)
    web = start_web(processes, env)
    manage(env, "enqueue", "--all", quiet=True)
    worker = processes.start("worker", [sys.executable, "manage.py", "worker"], env)
    say(f"Crawling every column of the demo site (worker {worker.pid}, logs in {STATE.relative_to(ROOT)}):")
    crawl(processes, env)
    manage(env, "demo_check", str(MANIFEST))
    python = os.path.relpath(sys.executable)
    say(f"\nAdmin   {web}/admin/   user admin, password {password}")
    say(f"API     {web}/api/docs/   key {key}")
    say(f"Export  GOVCRAWLER_URL={web} GOVCRAWLER_KEY={key} {python} deploy/examples/rag_consumer.py --once .var/demo/rag")
    if options.once:
        return 0
    say("Serving until Ctrl-C.")
    while True:
        processes.check()
        time.sleep(1)


def prepare(fresh: bool) -> list[int]:
    """The state folder and the three ports of the site: those of the last time, whose URLs are in the database, if free."""
    ports_file = STATE / "ports.json"
    ports = json.loads(ports_file.read_text()) if ports_file.exists() else []
    if ports and not fresh and not all(free(port) for port in ports):
        say(f"Ports {ports} of the last demo are taken: beginning anew.")
        fresh = True
    if fresh or not ports:
        shutil.rmtree(STATE, ignore_errors=True)
        ports = [port if free(port) else free_port() for port in WRITTEN_PORTS]
    STATE.mkdir(parents=True, exist_ok=True)
    ports_file.write_text(json.dumps(ports))
    (STATE / "sites").mkdir(exist_ok=True)
    for name in SITE_FILES:
        text = (ROOT / "deploy" / "demo" / "sites" / f"{name}.yaml").read_text(encoding="utf-8")
        for written, port in zip(WRITTEN_PORTS, ports, strict=True):
            text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{port}")
        (STATE / "sites" / f"{name}.yaml").write_text(text.replace("\nenabled: false\n", "\nenabled: true\n"), encoding="utf-8")
    return ports


def environment(ports: list[int]) -> dict[str, str]:
    """The settings of the demo: nothing of the machine's own configuration, least of all its database."""
    secret = STATE / "secret_key"
    if not secret.exists():
        secret.write_text(secrets.token_urlsafe(50))
        secret.chmod(0o600)
    return os.environ | {
        "SECRET_KEY": secret.read_text(),
        "DEBUG": "0",
        "HTTPS": "0",
        "LOG_JSON": "0",
        "LOG_LEVEL": "INFO",
        "STATE_DIR": str(STATE),
        "CONTENT_DIR": str(STATE / "content"),
        "SITES_DIR": str(STATE / "sites"),
        "DATABASE_URL": f"sqlite:///{STATE / 'govcrawler.sqlite3'}",
        "BROKER_URL": "",
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "CRAWL_ALLOW_ADDRESSES": ",".join(f"127.0.0.1:{port}" for port in ports),
        "PYTHONUNBUFFERED": "1",
    }


def serve_site(processes: Processes, env: dict[str, str], ports: list[int], crawl_delay: float) -> None:
    options = ["--ports", ",".join(map(str, ports)), "--crawl-delay", str(crawl_delay), "--manifest", str(MANIFEST)]
    site = processes.start("site", [sys.executable, "manage.py", "demo_site", *options], env, piped=True)
    assert site.stdout is not None
    line = site.stdout.readline()
    if not line:
        raise DemoFailed(f"the demo site did not start: see {STATE / 'site.log'}")
    say("The demo government site: " + "  ".join(json.loads(line)["hosts"]))


def credentials(env: dict[str, str]) -> tuple[str, str]:
    """Password of the admin user and an API key, made once."""
    file = STATE / "credentials.json"
    if not file.exists():
        password = secrets.token_urlsafe(9)
        manage(
            env | {"DJANGO_SUPERUSER_PASSWORD": password},
            "createsuperuser",
            "--noinput",
            "--username",
            "admin",
            "--email",
            "",
            quiet=True,
        )
        scopes = [part for scope in ("read", "export", "operate") for part in ("--scope", scope)]
        key = manage(env, "create_api_key", "demo", *scopes, quiet=True).strip()
        file.write_text(json.dumps({"password": password, "key": key}))
        file.chmod(0o600)
    told = json.loads(file.read_text())
    return told["password"], told["key"]


def start_web(processes: Processes, env: dict[str, str]) -> str:
    port = 8000 if free(8000) else free_port()
    server = [
        str(Path(sys.executable).parent / "gunicorn"),
        "govcrawler.wsgi",
        "--workers",
        "1",
        "--threads",
        "4",
        "--no-control-socket",
    ]
    processes.start("web", [*server, "--bind", f"127.0.0.1:{port}"], env)
    url = f"http://127.0.0.1:{port}"
    for _ in range(150):
        processes.check()
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                return url
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise DemoFailed(f"the web server does not answer: see {STATE / 'web.log'}")


def crawl(processes: Processes, env: dict[str, str]) -> None:
    """Shows progress until no job is left."""
    watch = subprocess.Popen([sys.executable, "manage.py", "jobs", "--watch"], cwd=ROOT, env=env)
    deadline = time.monotonic() + CRAWL_SECONDS
    try:
        while watch.poll() is None:
            processes.check()
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f"the crawl is not done after {CRAWL_SECONDS} s: `manage.py jobs` says why, {STATE / 'worker.log'}"
                )
            time.sleep(0.2)
    finally:
        watch.terminate()
        watch.wait()


def manage(env: dict[str, str], *arguments: str, quiet: bool = False) -> str:
    """Runs a management command and gives its output. Raises DemoFailed."""
    command = [sys.executable, "manage.py", *arguments]
    if not quiet:
        if (status := subprocess.call(command, cwd=ROOT, env=env)) != 0:
            raise DemoFailed(f"`manage.py {' '.join(arguments)}` ended with status {status}")
        return ""
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise DemoFailed(f"`manage.py {arguments[0]}` ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
