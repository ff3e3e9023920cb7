"""A picture of boxes, lines and words, as SVG that can be read in light and in dark."""

from html import escape

# name: (light, dark)
COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#656d76", "#9198a1"),
    "rule": ("#afb8c1", "#484f58"),
    "empty": ("#f6f8fa", "#161b22"),
    "blue": ("#b6dcff", "#0b4a8f"),
    "green": ("#b4f0be", "#0f5323"),
    "amber": ("#ffe08a", "#694700"),
    "rose": ("#ffc7cf", "#84233a"),
    "violet": ("#e2d0ff", "#50318f"),
    "teal": ("#a5eef0", "#0a5257"),
    "orange": ("#ffd0a3", "#7a3a08"),
    "grey": ("#d9dee3", "#3a4048"),
}
HUES = ["blue", "amber", "green", "rose", "violet", "teal", "orange", "grey"]


class Picture:
    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.head = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
        self.parts = [f'<rect class="paper" width="{width}" height="{height}"/>']

    def box(self, x, y, width, height, colour="empty", edge="rule", thick=1):
        self.parts.append(
            f'<rect class="{colour} s-{edge}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
            f' stroke-width="{thick:g}"/>'
        )

    def frame(self, x, y, width, height, edge="ink", thick=2):
        self.parts.append(
            f'<rect class="s-{edge}" fill="none" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
            f' stroke-width="{thick:g}"/>'
        )

    def text(self, x, y, words, size=13, anchor="start", colour="ink", bold=False, turned=False):
        weight = ' font-weight="bold"' if bold else ""
        turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
        self.parts.append(
            f'<text class="{colour}" x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight}{turn}>'
            f"{escape(str(words))}</text>"
        )

    def cell(self, x, y, width, height, words, colour="empty", size=10, edge="rule"):
        """A box with words in its middle."""
        self.box(x, y, width, height, colour, edge)
        self.text(x + width / 2, y + height / 2 + size * 0.36, words, size, "middle")

    def line(self, x1, y1, x2, y2, edge="ink", thick=1.5, arrow=False, dashed=False):
        end = ' marker-end="url(#arrow)"' if arrow else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<line class="s-{edge}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke-width="{thick:g}"{end}{dash}/>'
        )

    def svg(self):
        def rules(which):
            fills = (f".{name}{{fill:{pair[which]}}}" for name, pair in COLOURS.items())
            strokes = (f".s-{name}{{stroke:{COLOURS[name][which]}}}" for name in ("ink", "faint", "rule"))
            return "\n".join([*fills, *strokes])

        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}" height="{self.height:g}" role="img"'
            ' font-family="system-ui, sans-serif">\n'
            f"{self.head}\n<style>\n{rules(0)}\n"
            f"@media (prefers-color-scheme: dark) {{\n{rules(1)}\n}}\n</style>\n"
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto-start-reverse"><path class="ink" d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )
