#!/usr/bin/env python3
"""The website: in a browser every page loads with nothing in its console, shows its figures, and fits a
phone; search finds words; nothing is loaded from elsewhere. The browser is Chromium without a window."""

import functools
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

import steps
import tap

HTML = os.path.join(steps.ROOT, "build", "site", "html")
PHONE = 390  # CSS pixels
SECONDS = 240  # for all pages

# Loads the pages in a frame as wide as a phone, one after the other, and writes down what is wrong.
LOOKER = """<!doctype html><title>looking</title><iframe id="frame" width="%d" height="800"></iframe>
<script>
const pages = %s, found = {}, frame = document.getElementById("frame");
async function load(page) {
    await new Promise(done => { frame.onload = done; frame.src = page; });
    const inner = frame.contentDocument, faults = [];
    const pictures = [...inner.images];
    await Promise.all(pictures.map(image => image.decode().catch(() => 0)));
    for (const image of pictures) {
        if (!image.naturalWidth) faults.push("no picture " + image.src);
        if (!image.alt) faults.push("no text for " + image.src);
    }
    const width = inner.documentElement.scrollWidth;
    if (width > %d) faults.push(width + " pixels wide");
    if (!inner.querySelector("h1")) faults.push("no heading");
    found[page] = faults;
}
(async () => {
    for (const page of pages) await load(page);
    fetch("found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Server(http.server.ThreadingHTTPServer):
    """Serves the site, and the page that looks at it, which sends what it has found."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=HTML))
        self.looker = (LOOKER % (PHONE, json.dumps(pages), PHONE)).encode()
        self.found, self.done = None, threading.Event()


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/look.html":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.looker)

    def do_POST(self):
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def log_message(self, *arguments):
        pass


def look(pages):
    """{page: [fault, ...]}, None after too long; and the lines that pages wrote to the console."""
    with Server(pages) as server, tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(os.path.join(profile, "log"), "w+", encoding="utf-8") as log:
            command = [
                browser(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                f"--user-data-dir={profile}/user", "--remote-debugging-port=0",
                f"http://127.0.0.1:{server.server_port}/look.html",
            ]  # fmt: skip
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
            server.done.wait(SECONDS)
            process.terminate()
            process.wait()
            log.seek(0)
            console = [line.strip() for line in log if "CONSOLE" in line]
        server.shutdown()
        return server.found, console


if not os.path.exists(os.path.join(steps.ROOT, "build", "site-venv", "bin", "zensical")):
    tap.skip_all("the generator is not installed: make site")
made = tap.make("site")
tap.ok(made.returncode == 0, "make site", made.stdout + made.stderr)

pages = sorted(os.path.relpath(path, HTML) for path in glob.glob(os.path.join(HTML, "**", "*.html"), recursive=True))
expected = [name[:-3] + ".html" for name in os.listdir(os.path.join(steps.ROOT, "docs")) if name.endswith(".md")]
missing = set(expected) - {"README.html"} - set(pages)
tap.ok("index.html" in pages and not missing, f"{len(pages)} pages", missing)

outside = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="https?://[^"]*"')
loaded = {page: outside.findall(steps.text(os.path.join(HTML, page))) for page in pages}
tap.ok(not any(loaded.values()), "nothing is loaded from elsewhere", {p: u for p, u in loaded.items() if u})
index = steps.text(os.path.join(HTML, "search.json"))
tap.ok(all(word in index for word in ("wavefront", "roofline", "clobber")), "search knows the words")
primer = steps.text(os.path.join(HTML, "ptx-primer.html"))
tap.ok('<span class="k' in primer, "code is highlighted")

if not browser():
    tap.skip("the pages in a browser", "chromium is missing (package: chromium)")
else:
    found, console = look([page for page in pages if page != "404.html"])
    tap.ok(found is not None, "the browser has seen all pages", "\n".join(console[:10]))
    for page, faults in (found or {}).items():
        if not page.startswith("repository"):
            tap.ok(not faults, page, faults)
    wrong = {p: f for p, f in (found or {}).items() if p.startswith("repository") and f}
    tap.ok(not wrong, "pages of the repository's files", wrong)
    tap.ok(not console, "nothing in the console", "\n".join(console[:10]))
tap.finish()
