"""test_scenarios.py - docs/scenarios.md shows the table that `make scenarios` prints, and names each origin."""

import re

from pages import ROOT, blocks

FOLDERS = [ROOT / "tests" / folder for folder in ("scenarios", "property")]
PAGE = ROOT / "docs" / "scenarios.md"


def origins():
    """{name: its file}, as tests/scenarios/conftest.py has them."""
    named = re.findall(r'"(test_\w+)": "([^"]+)"', (ROOT / "tests" / "scenarios" / "conftest.py").read_text())
    return {name: next(folder / f"{stem}.py" for folder in FOLDERS if (folder / f"{stem}.py").exists()) for stem, name in named}


def test_the_page_shows_how_many_scenarios_hold_and_differ():
    [block] = [block for block in blocks(PAGE) if block.language == "console"]
    shown = {row[0]: tuple(map(int, row[1:])) for row in re.findall(r"^([\w-]+) +(\d+) +(\d+) +(\d+)$", "\n".join(block.lines), re.M)}
    counted = {}
    for name, path in origins().items():
        tests = re.findall(r"((?:^@.*\n)*)^def test_", path.read_text(), re.M)
        differ = sum("@differs" in before for before in tests)
        counted[name] = len(tests), len(tests) - differ, differ
    assert shown == counted


def test_the_page_has_a_part_for_each_origin():
    assert [name for name in origins() if not re.search(rf"^## {name}\b", PAGE.read_text(), re.M)] == []
