"""The pages in a real browser: labelling by keys alone, undo, search, export, two people, narrow and dark, names for screen readers.

`./test browser` runs it with Debian's Chromium (or what CHROMIUM names) and skips it with a line where there is none. With SCREENSHOTS set to a
folder, a picture of each state is left there.
"""

import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("CORPUSCLE", ROOT / "target" / "debug" / "corpuscle"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PICTURES = os.environ.get("SCREENSHOTS")

playwright = pytest.importorskip("playwright.sync_api", reason="skipped: there is no Playwright")
if not CHROMIUM:
    pytest.skip("skipped: there is no Chromium to open the pages in", allow_module_level=True)
if not BINARY.exists():
    pytest.skip(f"skipped: {BINARY} is not built", allow_module_level=True)


@pytest.fixture(scope="session")
def browser():
    # What the build before has written goes to the disk first, or labels would wait behind gigabytes of it.
    os.sync()
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo():
    lines = (ROOT / "crates/corpuscle/src/corpus/demo.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def start(tmp_path):
    running = []

    def start(*arguments):
        server = subprocess.Popen([BINARY, *arguments, "-q"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        running.append(server)
        return server.stdout.readline().strip()

    yield start
    for server in running:
        server.terminate()
        assert server.wait(timeout=30) == 0
        server.stdout.close()


@pytest.fixture
def pile(tmp_path, demo):
    train = [row for row in demo if row.get("split") == "train"]
    rows = [json.dumps({"id": row["id"], "text": row["text"]}) for row in train]
    (tmp_path / "pile.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return {row["id"]: row["label"] for row in train}


def picture(page, name):
    if PICTURES:
        pathlib.Path(PICTURES).mkdir(exist_ok=True)
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def open_page(browser, address, **how):
    """A page that fails the test when it writes an error or asks anybody else for anything."""
    page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | how)).new_page()
    page.faults = []
    page.on("console", lambda said: said.type == "error" and page.faults.append(said.text))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    own = address.split("/?")[0]
    page.on("request", lambda asked: asked.url.startswith((own, "blob:", "data:")) or page.faults.append(asked.url))
    page.goto(address)
    return page


def until(page, wanted, arg=None, timeout=120000):
    """Waits for something to hold. Playwright's own waiting would have the page evaluate a text, which its policy forbids.

    The page waits for the disk with every label, and a disk that is still busy with what a build has written can take its time.
    """
    end = time.monotonic() + timeout / 1000
    while not page.evaluate(wanted, arg):
        if time.monotonic() >= end:
            said = page.evaluate("(document.getElementById('error') || {}).textContent")
            focus = page.evaluate("document.activeElement.id || document.activeElement.tagName")
            pytest.fail(f"{wanted} never held for {arg!r}; the page says {said!r}, the focus is on {focus}, faults: {page.faults}")
        page.wait_for_timeout(20)


# What sticks out of its card at the right.
OUTSIDE = """[...document.querySelectorAll('.card *')].filter(e => e.offsetParent && !e.closest('.text, .chart')
    && e.getBoundingClientRect().right > e.closest('.card').getBoundingClientRect().right + 1).map(e => e.outerHTML.slice(0, 100))"""


def current(page):
    return page.locator("#doc-id").inner_text()


def label_by_key(page, label):
    """Presses the key of a class, or names a new one; waits for the next document."""
    before = current(page)
    names = page.locator("#classes .name").all_inner_texts()
    if label in names:
        page.keyboard.press("1234567890"[names.index(label)])
    else:
        page.keyboard.press("n")
        page.keyboard.type(label)
        page.keyboard.press("Enter")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=before)
    if label not in names:
        until(page, "name => [...document.querySelectorAll('#classes .name')].some(e => e.textContent === name)", arg=label)


def post(address, path, body):
    """A request beside the page, with its token."""
    own, token = address.split("/?token=")
    request = urllib.request.Request(own + path, json.dumps(body).encode(), {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def axe(page):
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return []
    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]


def test_an_answer_without_a_next_document_does_not_hold_the_page_up(browser, start, pile):
    page = open_page(browser, start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada"))
    until(page, "document.getElementById('doc-id').textContent !== ''")

    def without_next(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"next": None})

    page.route("**/v1/skip", without_next)
    for _ in range(2):
        before = current(page)
        page.keyboard.press("s")
        until(page, "before => document.getElementById('doc-id').textContent !== before", arg=before)
    assert page.locator("#error").is_hidden()
    assert page.faults == []


def test_sixty_documents_by_keys_alone(browser, start, pile, tmp_path):
    page = open_page(browser, start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada"))
    until(page, "document.getElementById('doc-id').textContent !== ''")
    assert "token" not in page.url
    picture(page, "label-empty")
    accuracies = []
    for number in range(60):
        label_by_key(page, pile[current(page)])
        if number in (19, 39, 59):
            until(page, "document.getElementById('accuracy').textContent !== '–'")
            time.sleep(3.5)
            accuracies.append(page.locator("#accuracy").inner_text())
    assert len(accuracies) == 3
    picture(page, "label-60")
    assert page.locator("#progress").inner_text().startswith("60 of")
    # Undo shows the last document again, and the count goes back.
    shown = current(page)
    page.keyboard.press("u")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=shown)
    undone = current(page)
    until(page, "document.getElementById('progress').textContent.startsWith('59 of')")
    label_by_key(page, pile[undone])
    until(page, "document.getElementById('progress').textContent.startsWith('60 of')")
    # Several labels, a note, a skip.
    page.keyboard.press("m")
    page.keyboard.press("1")
    page.keyboard.press("2")
    picture(page, "label-several")
    before = current(page)
    page.keyboard.press("Enter")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=before)
    page.keyboard.press("m")
    page.keyboard.press("t")
    page.keyboard.type("look at this again")
    page.keyboard.press("Enter")
    before = current(page)
    page.keyboard.press("s")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=before)
    # A reload changes nothing.
    shown = current(page)
    page.reload()
    until(page, "document.getElementById('doc-id').textContent !== ''")
    assert current(page) == shown
    # Search, filters, the way back.
    page.keyboard.press("/")
    page.keyboard.type("invoice")
    until(page, "document.querySelectorAll('#list li').length > 0 && document.querySelectorAll('#list li').length < 50")
    picture(page, "documents-search")
    page.fill("#query", "")
    for show in ["unlabelled", "labelled", "doubt", "check", "disputed", "skipped", "notes"]:
        with page.expect_response(lambda response: f"show={show}" in response.url):
            page.select_option("#show", show)
        page.wait_for_timeout(50)
        if show == "check":
            picture(page, "documents-check")
        if show in ("skipped", "notes"):
            assert page.locator("#list li").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#view-label").is_visible()
    # The map.
    page.click("nav.tabs button[data-view=map]")
    until(page, "document.querySelectorAll('#legend li').length > 0")
    page.wait_for_timeout(200)
    picture(page, "map")
    drawn = page.evaluate("(() => { const c = document.getElementById('canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                          " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()")
    assert drawn > 1000
    page.click("nav.tabs button[data-view=people]")
    picture(page, "people")
    # Export what was labelled, and train on the store itself.
    page.click("nav.tabs button[data-view=files]")
    picture(page, "files")
    with page.expect_download() as download:
        page.click("[data-export=jsonl]")
    lines = pathlib.Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 61
    assert not page.faults, page.faults
    done = subprocess.run([BINARY, "train", "labels.db", "--recipe", "tfidf-svm", "-o", "my.model", "--json", "-q"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["labelled"] == 61


def test_keys_pressed_while_the_server_answers(browser, start, pile, tmp_path):
    """What is asked for meanwhile waits for its turn; what was meant for a document that is gone by then is left alone."""
    address = start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada")
    page = open_page(browser, address)
    until(page, "document.getElementById('doc-id').textContent !== ''")
    for _ in range(4):
        label_by_key(page, pile[current(page)])
    slow = lambda route: (time.sleep(0.4), route.continue_())
    page.route("**/v1/notes", slow)
    page.route("**/v1/labels", slow)
    noted = current(page)
    page.keyboard.press("t")
    page.keyboard.type("look at this again")
    page.keyboard.press("Enter")
    page.keyboard.press("s")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=noted)
    twice = current(page)
    page.keyboard.press("1")
    page.keyboard.press("1")
    until(page, "before => document.getElementById('doc-id').textContent !== before", arg=twice)
    page.wait_for_timeout(1200)
    until(page, "document.getElementById('progress').textContent.startsWith('5 of')")
    page.keyboard.press("u")
    page.keyboard.press("u")
    until(page, "document.getElementById('progress').textContent.startsWith('4 of')")
    until(page, "noted => document.getElementById('doc-id').textContent === noted", arg=noted)
    assert page.locator("#note").input_value() == "look at this again"
    assert not page.faults, page.faults


def test_two_people_at_once(browser, start, pile):
    address = start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada")
    pages = [open_page(browser, address), open_page(browser, address)]
    until(pages[1], "document.getElementById('doc-id').textContent !== ''")
    pages[1].click("#who")
    pages[1].fill("#name", "Bob")
    pages[1].keyboard.press("Enter")
    until(pages[1], "document.getElementById('who').textContent === 'Bob'")
    pages[1].wait_for_timeout(500)
    seen = [set(), set()]
    for _ in range(8):
        for number, page in enumerate(pages):
            seen[number].add(current(page))
            label_by_key(page, pile[current(page)])
    assert len(seen[0] & seen[1]) == 0
    pages[0].click("nav.tabs button[data-view=people]")
    until(pages[0], "document.querySelectorAll('#authors tr').length === 2")
    assert all(not page.faults for page in pages)


def looks_well(page, width, name):
    """Leaves a picture; nothing sticks out, and everything has a name."""
    picture(page, name)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{name} is {wide} px wide"
    assert page.evaluate(OUTSIDE) == [], name
    assert axe(page) == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_view_fits_and_has_names(browser, start, pile, width, scheme):
    how = {"viewport": {"width": width, "height": 844 if width == 390 else 900}, "color_scheme": scheme}
    address = start("label", "pile.jsonl", "-o", "labels.db", "--author", "Ada")
    page = open_page(browser, address, **how)
    until(page, "document.getElementById('doc-id').textContent !== ''")
    for number in range(24):
        shown = current(page)
        label_by_key(page, pile[shown])
        # Bob has another opinion of every fourth.
        post(address, "/v1/labels", {"id": shown, "label": "spam" if number % 4 == 3 else pile[shown], "author": "Bob"})
    page.wait_for_timeout(4000)
    # A word is not cut where there is room for it on a line.
    cut = page.evaluate("""[...document.querySelectorAll('#classes .name')].filter(e => e.textContent.length <= 10
        && e.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(e).lineHeight)).map(e => e.textContent)""")
    assert cut == [], cut
    for view in ["label", "documents", "map", "people", "files"]:
        page.click(f"nav.tabs button[data-view={view}]")
        page.wait_for_timeout(600)
        looks_well(page, width, f"{view}-{width}-{scheme}")
        if view == "documents":
            for show in ["check", "disputed", "doubt"]:
                with page.expect_response(lambda response: f"show={show}" in response.url):
                    page.select_option("#show", show)
                page.wait_for_timeout(100)
                looks_well(page, width, f"documents-{show}-{width}-{scheme}")
            page.select_option("#show", "all")
            with page.expect_response(lambda response: "q=invoice" in response.url):
                page.fill("#query", "invoice")
            page.wait_for_timeout(100)
            looks_well(page, width, f"documents-search-{width}-{scheme}")
        if view == "map":
            page.select_option("#colour", "prediction")
            page.wait_for_timeout(100)
            looks_well(page, width, f"map-prediction-{width}-{scheme}")
    page.click("nav.tabs button[data-view=label]")
    page.keyboard.press("m")
    page.keyboard.press("1")
    page.keyboard.press("2")
    looks_well(page, width, f"label-several-{width}-{scheme}")
    page.keyboard.press("m")
    page.keyboard.press("?")
    picture(page, f"keys-{width}-{scheme}")
    assert not page.faults, page.faults


@pytest.fixture(scope="session")
def served(tmp_path_factory, demo):
    """A folder with a model of the embedded corpus, one that keeps its documents, and an index."""
    folder = tmp_path_factory.mktemp("served")
    rows = [json.dumps(row) for row in demo]
    (folder / "demo.jsonl").write_text("\n".join(rows), encoding="utf-8")
    run = lambda *arguments: subprocess.run([BINARY, *arguments, "-q"], cwd=folder, check=True, capture_output=True)
    run("train", "demo.jsonl", "--where", "split=train", "--recipe", "tfidf-svm", "-o", "demo.model")
    run("train", "demo.jsonl", "--where", "split=train", "--recipe", "tfidf | knn(k=5)", "-o", "near.model")
    run("index", "demo.jsonl", "-o", "index")
    return folder


FOREIGN = ["The goalie stopped thirty shots and the Rangers won in overtime", "Hubble was lifted into orbit by the shuttle and its astronauts"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_text_is_pasted_and_explained(browser, start, demo, served, width, scheme):
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page = open_page(browser, start("serve", str(served / "demo.model"), "--index", str(served / "index")), **how)
    page.wait_for_selector("#drift-card:not([hidden])")
    looks_well(page, width, f"serve-empty-{width}-{scheme}")
    page.fill("#text", "My invoice shows the wrong amount, please send a corrected one and refund the difference.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#decision:not([hidden])")
    assert page.locator("#label").inner_text()
    assert page.locator("#marked mark").count() > 0 and page.locator("#near li").count() > 0
    looks_well(page, width, f"serve-{width}-{scheme}")
    assert not page.faults, page.faults


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_drift_is_shown_with_a_chart(browser, start, demo, served, width, scheme):
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    address = start("serve", str(served / "near.model"), str(served / "demo.model"))
    post(address, "/v1/predict", {"texts": [row["text"] for row in demo if row["split"] == "test"], "model": "demo"})
    page = open_page(browser, address, **how)
    page.wait_for_selector("#drift-card:not([hidden])")
    assert "Too few" in page.locator("#drift").inner_text()
    page.fill("#text", "The screen of my laptop stays black.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#decision:not([hidden])")
    assert "training document" in page.locator("#near li").first.inner_text()
    picture(page, f"serve-neighbours-{width}-{scheme}")
    # Another model is asked about the text that stands there.
    with page.expect_response(lambda response: response.url.endswith("/v1/explain")):
        page.select_option("#model", "demo")
    until(page, "document.getElementById('near-card').hidden")
    until(page, "document.querySelectorAll('#drift-charts svg').length === 2")
    assert page.locator("#drift").inner_text().startswith("No sign")
    looks_well(page, width, f"serve-same-{width}-{scheme}")
    post(address, "/v1/predict", {"texts": FOREIGN * 950, "model": "demo"})
    page.reload()
    page.select_option("#model", "demo")
    until(page, "document.getElementById('drift').className === 'notice'")
    said = page.locator("#drift").inner_text()
    assert "unlike those trained on" in said and "Since" in said
    looks_well(page, width, f"serve-drift-{width}-{scheme}")
    assert not page.faults, page.faults


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_of_drift_fits(browser, served, width, scheme):
    (served / "foreign.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in FOREIGN * 20), encoding="utf-8")
    subprocess.run([BINARY, "drift", "demo.model", "foreign.jsonl", "--before", "demo.jsonl", "--report", "drift.html", "-q"],
                   cwd=served, check=True, capture_output=True)
    how = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page = open_page(browser, (served / "drift.html").as_uri(), **how)
    assert "unlike those trained on" in page.locator("body").inner_text()
    looks_well(page, width, f"drift-report-{width}-{scheme}")


def test_without_the_token_a_page_says_what_to_do(browser, start, pile):
    address = start("label", "pile.jsonl", "-o", "labels.db")
    page = browser.new_context().new_page()
    page.goto(address.split("?")[0])
    page.wait_for_selector("#error:not([hidden])")
    assert "token" in page.locator("#error").inner_text()
