"""The file itself: one HTML document that asks nothing of any network.

What a model wrote is only ever data: it stands in a block of JSON without `<`, `>` or `&`, and the page's own code puts
it on the screen as text. The policy of the page (Content-Security-Policy) forbids every script and style but the ones
that stand here, by their digest; every connection; and, where the browser knows Trusted Types, making markup of strings.
"""

import base64
import hashlib
import html
import json
from importlib.resources import files

# In the order in which they stand in the page: each may use what the earlier ones declare.
_LIBRARIES = ("chart.umd.min.js", "highlight.core.min.js", "highlight.python.min.js", "highlight.cpp.min.js")
_LICENCES = (("Chart.js", "chart.LICENSE"), ("highlight.js", "highlight.LICENSE"))
_SCRIPTS = (
    "dom.js", "data.js", "tables.js", "code.js", "charts.js", "detail.js", "leaderboard.js", "matrix.js",
    "submissions.js", "main.js",
)  # fmt: skip

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<script type="application/json" id="data">{data}</script>
{body}
<script>{libraries}</script>
<script>{scripts}</script>
</body>
</html>
"""


def document(content: dict[str, object], *, title: str) -> str:
    """`content` (plain data, as `content.content` makes it) as one HTML file."""
    style = _asset("page.css")
    libraries = "\n".join(_without_source_map(_vendored(name)) for name in _LIBRARIES)
    scripts = "\n".join(["(() => {", '"use strict";', *map(_asset, _SCRIPTS), "})();"])
    data = script_json(content)
    size_mb = sum(map(len, (style, libraries, scripts, data))) / 1e6
    return _DOCUMENT.format(
        policy=_policy(style=style, scripts=(libraries, scripts)),
        title=html.escape(title),
        style=style,
        data=data,
        body=_asset("body.html").format(title=html.escape(title), licences=_licences(), size=f"{size_mb:.1f} MB"),
        libraries=libraries,
        scripts=scripts,
    )


def script_json(value: object) -> str:
    """`value` as JSON that may stand in a `<script>` element: in ASCII, and nothing in it can end the element.

    Source: HTML standard, section 4.12.1.3, "Restrictions for contents of script elements".
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(*, style: str, scripts: tuple[str, ...]) -> str:
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _licences() -> str:
    return "\n".join(f"<h3>{name}</h3>\n<pre>{html.escape(_vendored(file))}</pre>" for name, file in _LICENCES)


def _without_source_map(script: str) -> str:
    """A map that is not there would be asked for by the browser's developer tools."""
    return "\n".join(line for line in script.splitlines() if not line.startswith("//# sourceMappingURL="))


def _asset(name: str) -> str:
    return (files("harness.report.page") / "assets" / name).read_text(encoding="utf-8")


def _vendored(name: str) -> str:
    return (files("harness.report.page") / "vendor" / name).read_text(encoding="utf-8")
