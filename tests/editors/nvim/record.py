"""record.py SCREEN TITLE SVG: draws what a terminal showed (as `tmux capture-pane -e` gives it)."""

import sys

from rich.console import Console
from rich.text import Text

screen, title, picture = sys.argv[1:]
with open(screen, encoding="utf-8") as file:
    lines = file.read().rstrip("\n").split("\n")
console = Console(record=True, width=118, force_terminal=True, color_system="truecolor", file=open("/dev/null", "w"))
for line in lines:
    console.print(Text.from_ansi(line), no_wrap=True, overflow="crop", crop=True)
# One identity a picture, so that recording it anew changes what has changed only.
console.save_svg(picture, title=title, unique_id="tileops-" + title.split(":")[0].replace(".", "-"))
