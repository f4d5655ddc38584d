"""What functions give back: rows that become frames, tables of notebooks and pictures."""

import html
import pathlib


class Svg:
    """A picture: shown by notebooks, written by :meth:`save`."""

    def __init__(self, text):
        self.text = text

    def _repr_svg_(self):
        return self.text

    def save(self, path):
        """Writes the picture."""
        pathlib.Path(path).write_text(self.text, encoding="utf-8")


class Result:
    """Rows of an experiment.

    ``rows`` is a list of dicts; :meth:`to_pandas` and :meth:`to_polars` give frames, :meth:`plot` a picture.
    """

    def __init__(self, rows, title, picture=None, **more):
        self.rows = rows
        self.title = title
        self._picture = picture
        self.__dict__.update(more)

    def __len__(self):
        return len(self.rows)

    def to_pandas(self):
        """The rows as a frame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def to_polars(self):
        """The rows as a Polars frame."""
        import polars

        return polars.DataFrame(self.rows)

    def plot(self):
        """A picture of the rows."""
        if self._picture is None:
            raise ValueError(f"there is no picture of {self.title}")
        return Svg(self._picture())

    def __repr__(self):
        columns = list(self.rows[0]) if self.rows else []
        table = [columns] + [[shown(row[name]) for name in columns] for row in self.rows]
        widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([self.title, *lines])

    def _repr_html_(self):
        columns = list(self.rows[0]) if self.rows else []
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(shown(row[name]))}</td>" for name in columns) + "</tr>" for row in self.rows
        )
        return f"<p>{html.escape(self.title)}</p><table><tr>{head}</tr>{body}</table>"


def shown(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
