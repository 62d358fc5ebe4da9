"""HTML pages from the templates of this room."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def rendered(template: str, **content: object) -> str:
    """The page of a template; text in it is escaped, and a name that it lacks is an error."""
    environment = Environment(
        loader=PackageLoader("storm_lab.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**content)
