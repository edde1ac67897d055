"""hooks.py - what mkdocs is told beside mkdocs.yml.

Anchors are those that GitHub makes, so that links work in both. The index of the search is a script: a page that was opened
from a folder may not fetch it as data.
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


def on_post_build(config):
    folder = pathlib.Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text()
    (folder / "search_index.js").write_text(f"const search_index = {index};\n")
    shutil.copy(pathlib.Path(mkdocs.contrib.search.__file__).parent / "templates" / "search" / "lunr.js", folder)
