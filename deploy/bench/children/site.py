"""``site ACCESS_LOG``: the demo site on three free ports, without Crawl-delay, until SIGTERM; prints its hosts.

Head and body of an answer are two packets. Nagle's algorithm would hold the second back until the client has acknowledged the
first, 40 ms on Linux, and both ways of crawling would measure that.
"""

from __future__ import annotations

import sys
from socketserver import StreamRequestHandler

from deploy.demo import serve

if __name__ == "__main__":
    StreamRequestHandler.disable_nagle_algorithm = True
    sys.exit(serve.main(["--ports", "0,0,0", "--crawl-delay", "0", "--access-log", sys.argv[1]]))
