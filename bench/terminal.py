"""Draws terminal output as an SVG picture: `python3 bench/terminal.py < session.txt > docs/terminal.svg`."""

import sys
from xml.sax.saxutils import escape

LINE_HEIGHT = 18
CHARACTER_WIDTH = 7.8
MARGIN = 16


def picture(lines: list[str]) -> str:
    """Returns an SVG of the lines. Lines that begin with `$ ` are commands and stand out."""
    width = round(max(map(len, lines)) * CHARACTER_WIDTH) + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    texts = []
    for number, line in enumerate(lines):
        y = MARGIN + number * LINE_HEIGHT + 13
        color = "#8ec07c" if line.startswith("$ ") else "#d5d5d5"
        texts.append(f'<text x="{MARGIN}" y="{y}" fill="{color}" xml:space="preserve">{escape(line)}</text>')
    style = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>',
            f'<rect width="{width}" height="{height}" rx="8" fill="#1d2021"/>',
            *texts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(picture(sys.stdin.read().rstrip("\n").split("\n")))
