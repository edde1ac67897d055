"""hooks.py - what mkdocs is told beside mkdocs.yml.

Anchors are those that GitHub makes, so that links work in both. The index of the search is a script: a page that was opened
from a folder may not fetch it as data. Names in tables may break after _ and ( so that tables fit on a phone.
"""
import pathlib
import re
import shutil

import mkdocs.contrib.search


def slug(text, separator):
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def on_config(config):
    config["mdx_configs"]["toc"]["slugify"] = slug
    return config


def on_post_page(output, page, config):
    """After the search has read the page: it would take the parts of a name for words."""
    return re.sub(r"<t[hd].*?</t[hd]>",
                  lambda cell: re.sub(r"<code>.*?</code>", lambda code: re.sub(r"(?<=[_(])(?=\w)", "<wbr>", code[0]), cell[0]),
                  output, flags=re.S)


def on_post_build(config):
    folder = pathlib.Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text()
    (folder / "search_index.js").write_text(f"const search_index = {index};\n")
    shutil.copy(pathlib.Path(mkdocs.contrib.search.__file__).parent / "templates" / "search" / "lunr.js", folder)
