"""HTML pages of the API itself: sign-in, and the hint for a missing dashboard."""

from __future__ import annotations

import html

from starlette.responses import HTMLResponse

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Hooke</title>{head}<style>
:root {{ color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }}
body {{ max-width: 34rem; margin: 18vh auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.4rem; font-weight: 600; }}
code {{ padding: .1em .35em; border-radius: .3em; background: color-mix(in srgb, currentColor 12%, transparent); }}
input, button {{ font: inherit; padding: .4rem .7rem; border-radius: .4rem; border: 1px solid #8888; }}
input {{ width: 18rem; max-width: 100%; }}
</style></head><body><main><h1>{title}</h1>{body}</main></body></html>
"""


def page(title: str, body: str, status: int = 200, head: str = "") -> HTMLResponse:
    """Return a small page; `body` and `head` are HTML, `title` is text."""
    content = _PAGE.format(title=html.escape(title), body=body, head=head)
    return HTMLResponse(content, status, {"cache-control": "no-store"})


def sign_in(*, expired: bool = False, wrong: bool = False) -> HTMLResponse:
    """Return the page for a browser that has no session."""
    lead = "Your session has ended. " if expired else ""
    if wrong:
        lead = "That token is not valid for this server: every home folder has a token of its own. "
    return page(
        "Sign in to Hooke",
        f"<p>{lead}Open the address that Hooke printed when it started; it contains the token.</p>"
        "<p>Or paste the token: it is in the file <code>token</code> of the home folder "
        "(<code>HOOKE_HOME</code>, by default <code>~/.hooke</code>).</p>"
        '<form action="/login"><input name="token" aria-label="Token" autocomplete="off" autofocus> '
        "<button>Sign in</button></form>",
        401,
    )


def not_built() -> HTMLResponse:
    """Return the page shown if the dashboard has not been built."""
    return page(
        "The dashboard is not built yet",
        "<p>The server is up, but its dashboard has not been built. In the repository, run:</p>"
        "<p><code>make setup</code></p>"
        '<p>The API works without it: see <a href="/api/docs">/api/docs</a>.</p>',
        503,
    )
