"""Paths as the user would type them. All text for people passes through here. JSON, stored errors and logs keep
absolute paths, because they may be read in a different folder."""

from __future__ import annotations

import os
import re


def relative_paths(text: str) -> str:
    """The text, with the paths inside the working directory relative to it. Other paths stay as they are."""
    try:
        here = os.getcwd()
    except FileNotFoundError:  # the working directory was deleted
        return text
    if here == os.sep or here not in text:
        return text
    inside = rf"(?<![\w./:~-]){re.escape(here)}(?:/(?=[^\s/])|(?![\w/-]|\.\w))"  # neither a URL nor a longer name
    return re.sub(inside, lambda found: "" if found.group().endswith(os.sep) else ".", text)
