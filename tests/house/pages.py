"""pages.py - the pages of the documentation: their blocks, their headings, their links."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "tests/TESTING.md", "tests/clients/README.md")]


def name_of(page):
    return str(page.relative_to(ROOT))


class Block:
    """A fenced block: its language, the words behind that, its lines, and the file that the line above names."""

    def __init__(self, page, line, words, file):
        self.page, self.line, self.language, self.words, self.file, self.lines = page, line, words[0], words[1:], file, []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def place(self):
        return f"{name_of(self.page)}:{self.line}"


def blocks(page, language=None):
    found, block, above = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block and line == "```":
            found.append(block)
            block, above = None, ""
        elif block:
            block.lines.append(line)
        elif line.startswith("```"):
            file = re.fullmatch(r"`([^`\s]+)`:", above)
            block = Block(page, number, line[3:].split() or [""], file and file[1])
        elif line.strip():
            above = line
    assert block is None, f"{block.place}: a block without an end"
    return [each for each in found if language in (None, each.language)]


def prose(page):
    """(number, line) of all that is in no block."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(page):
    """As GitHub makes them of headings."""
    seen, found = {}, set()
    for _, line in prose(page):
        heading = re.match(r"#{1,6} (.*)", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            n = seen[slug] = seen.get(slug, -1) + 1
            found.add(f"{slug}-{n}" if n else slug)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(page):
    """(number, target) of each link and each picture."""
    for number, line in prose(page):
        line = re.sub(r"`[^`]*`", "``", line)
        for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", line) + re.findall(r'(?:src|href)="([^"]+)"', line):
            yield number, target
