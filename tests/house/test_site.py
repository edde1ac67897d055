"""test_site.py - `make site`: each page is in the list of pages, each link leads somewhere, nothing comes from elsewhere, and
the search has all of it."""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MKDOCS = shutil.which("mkdocs")


class Page(html.parser.HTMLParser):
    """Where the links of a page lead, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors, self.headings = [], [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.anchors.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script", "link") and (given.get("src") or given.get("href")):
            self.loads.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not MKDOCS:
        pytest.skip("no mkdocs")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([ROOT / "tools" / "site" / "assemble", folder / "pages"], check=True)
    config = (ROOT / "tools" / "site" / "mkdocs.yml").read_text()
    for old, new in ("../../build/site", str(folder)), ("custom_dir: ", f"custom_dir: {ROOT}/tools/site/"), ("[hooks.py]", f"[{ROOT}/tools/site/hooks.py]"):
        assert old in config
        config = config.replace(old, new)
    (folder / "mkdocs.yml").write_text(config)
    done = subprocess.run([MKDOCS, "build", "--strict", "--config-file", folder / "mkdocs.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not included in the" not in done.stderr, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def found(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_each_page_is_there(site, found):
    names = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    assert names | {"index.html", "search.html"} <= {str(path.relative_to(site)) for path in found}


def test_links_lead_somewhere(site, found):
    wrong = []
    for path, page in found.items():
        if path.name == "404.html":  # is shown in place of pages of any folder
            continue
        for link in page.links + page.loads:
            if re.match("https?://", link):
                continue
            file, _, anchor = link.partition("#")
            to = (path.parent / file).resolve() if file else path
            if not to.is_file() or (anchor and to.suffix == ".html" and anchor not in found[to].anchors):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong, "\n".join(wrong)


def test_nothing_is_loaded_from_elsewhere(site, found):
    assert not [load for page in found.values() for load in page.loads if re.match("(https?:)?//", load)]
    assert not [path for path in site.rglob("*.css") if re.search(r"url\(|@import", path.read_text())]


def test_the_search_has_all_pages(site):
    sections = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")} <= {
        section["location"] for section in sections}
    assert (site / "search" / "search_index.js").read_text().startswith("const search_index = {")


SEARCH = """
const elements = [];
const element = () => ({ append(...all) { elements.push(...all); }, set textContent(text) { this.text = text; }, get textContent() { return this.text; } });
globalThis.location = { search: "?q=" + encodeURIComponent(process.argv[2]) };
globalThis.base_url = ".";
globalThis.document = { getElementById: element, querySelector: element, createElement: element };
globalThis.lunr = require(process.argv[1] + "/search/lunr.js");
const read = (name) => require("fs").readFileSync(process.argv[1] + "/" + name, "utf8");
new Function(read("search/search_index.js") + read("search.js"))();
console.log(elements.filter((each) => each.href).map((each) => each.href + "\\t" + each.text).join("\\n"));
"""


def search(site, words):
    """The hits, in their order: where each leads, and its title."""
    done = subprocess.run(["node", "-e", SEARCH, site, words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\t") for line in done.stdout.splitlines() if line]


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
@pytest.mark.parametrize("words, first", [
    ("floor", "counter-tables.html#floors"), ("counter_fork", "backups.html"), ("tombston", ""), ("xyzzyx", None), ("is not", None),
    ("readonly", "errors.html#frequent-errors"), ("not authorized", "errors.html#frequent-errors"),
    ("no such module", "errors.html#"), ("database is locked", "errors.html#")])
def test_the_search_finds(site, words, first):
    hits = [link for link, _ in search(site, words)]
    assert (first is None and not hits) or (hits and first in " ".join(hits[:3]))


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
@pytest.mark.parametrize("words", ["counter", "sync", "getting started", "doubled", "keys=spread", "floor", "database is locked"])
def test_the_search_shows_each_hit_once(site, words):
    hits = search(site, words)
    links = [link for link, _ in hits]
    assert hits and len(set(links)) == len(links) and len({title for _, title in hits}) == len(hits), hits
    assert not {link.partition("#")[0] for link in links if "#" in link} & set(links), hits


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_a_page_is_found_by_words_of_two_of_its_sections(site):
    assert [link for link, _ in search(site, "canon unicase")] == ["./merge.html"]
