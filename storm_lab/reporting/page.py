"""HTML pages from the templates of this package."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def rendered(template: str, **content: object) -> str:
    """Render a template; text is escaped, and a missing name is an error."""
    environment = Environment(
        loader=PackageLoader("storm_lab.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**content)
