"""Write `flights/`: a year of flights in 54 weekly CSV files, as the world makes them. All of it is made up.

The clean weeks follow ArrDelay = DepDelay + TaxiIn + 0.9 TaxiOut - 0.003 Distance - 14, with noise of 8 minutes. Every
other week has something wrong with it: `MESS` says what.
"""

import gzip
from pathlib import Path

import numpy as np

ROWS = 1000
NAMES = ["Flight", "DepDelay", "TaxiIn", "TaxiOut", "Distance", "ArrDelay"]


def flights(week):
    """Return the rows of a week, as a dictionary of columns."""
    rng = np.random.default_rng(week)
    dep_delay = np.where(rng.random(ROWS) < 0.3, rng.gamma(1.2, 30, ROWS), rng.normal(-2, 4, ROWS)).round()
    taxi_in, taxi_out = rng.gamma(4, 1.6, ROWS).round(), rng.gamma(6, 2.5, ROWS).round()
    distance = np.array([224, 305, 456, 689, 862, 1034, 1379, 1609])[rng.integers(0, 8, ROWS)]
    arr_delay = dep_delay + taxi_in + 0.9 * taxi_out - 0.003 * distance - 14 + rng.normal(0, 8, ROWS)
    columns = [np.arange(ROWS) + 1000 * week, dep_delay, taxi_in, taxi_out, distance, arr_delay.round()]
    return dict(zip(NAMES, columns, strict=True))


def text(columns, separator=",", show=lambda name, value: f"{value:g}"):
    """Return columns as CSV; `show` writes a cell."""
    lines = [separator.join(columns)]
    lines += [
        separator.join(show(name, value) for name, value in zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def changed(week, **changes):
    """Return the CSV of a week in which some columns are replaced by a function of all columns."""
    columns = flights(week)
    return text({**columns, **{name: change(columns) for name, change in changes.items()}})


def written(week, name, as_written):
    """Return the CSV of a week in which the cells of a column are written in another way."""
    return text(flights(week), show=lambda column, value: as_written(value) if column == name else f"{value:g}")


def later(rows):
    """Return 0 for the first half of the rows and 1 for the second."""
    return np.arange(rows) >= rows // 2


def some(share, seed=0):
    """Return which rows something happens to."""
    return np.random.default_rng(seed).random(ROWS) < share


def shuffled(values):
    """Return values in another order."""
    return np.random.default_rng(0).permutation(values)


def in_german(name, value):
    """Return a number with a decimal comma."""
    return f"{value:g}".replace(".", ",")


# ruff: noqa: E501
# What is wrong with a week: a function from its number to text or bytes.
MESS = {
    3: ("semicolons and decimal commas", lambda week: text(flights(week), ";", in_german)),
    5: ("thousands separators", lambda week: written(week, "Distance", lambda miles: f'"{miles:,.0f}"')),
    7: ("tabs", lambda week: text(flights(week), "\t")),
    9: ("Windows line ends, byte order mark", lambda week: ("\ufeff" + text(flights(week))).replace("\n", "\r\n")),
    11: ("TaxiIn in seconds", lambda week: changed(week, TaxiIn=lambda c: c["TaxiIn"] * 60)),
    13: ("early and late confused", lambda week: changed(week, ArrDelay=lambda c: -c["ArrDelay"])),
    15: ("summer time from the middle on", lambda week: changed(week, ArrDelay=lambda c: c["ArrDelay"] + 60 * later(ROWS))),
    17: ("headers in capitals, with blanks", lambda week: text({f" {k.upper()} ": v for k, v in flights(week).items()})),
    19: ("a web page", lambda week: "<!DOCTYPE html>\n<html><body><h1>404 Not Found</h1></body></html>\n"),
    21: ("a header only", lambda week: ",".join(NAMES) + "\n"),
    23: ("nothing at all", lambda week: ""),
    25: ("a copy of week 24", lambda week: text(flights(24))),
    27: ("-999 for unknown", lambda week: changed(week, TaxiIn=lambda c: np.where(some(0.1), -999, c["TaxiIn"]))),
    29: ("columns in another order", lambda week: text(dict(reversed(flights(week).items())))),
    31: ("units in the cells", lambda week: written(week, "Distance", lambda miles: f"{miles:g} mi")),
    33: ("cut off", lambda week: text(flights(week))[:12_345]),
    35: ("no text", lambda week: gzip.compress(text(flights(week)).encode())[:5000]),
    37: ("a line of totals", lambda week: text(flights(week)) + f"Total,{ROWS} flights\n"),
    39: ("stray fields", lambda week: text(flights(week)).replace(",224,", ",224,see remarks,")),
    41: ("estimated by eye", lambda week: changed(week, ArrDelay=lambda c: c["ArrDelay"] + 150 * (shuffled(np.arange(ROWS)) / ROWS - 0.5))),
    43: ("targets of other flights", lambda week: changed(week, ArrDelay=lambda c: shuffled(c["ArrDelay"]))),
    45: ("UTF-16", lambda week: text(flights(week)).encode("utf-16")),
    47: ("negative numbers in brackets", lambda week: written(week, "ArrDelay", lambda v: f"({-v:g})" if v < 0 else f"{v:g}")),
    49: ("a clock that hangs", lambda week: changed(week, ArrDelay=lambda c: np.where(later(ROWS), 17, c["ArrDelay"]))),
    51: ("cancelled flights arrive on time", lambda week: changed(week, ArrDelay=lambda c: np.where(some(0.08), 0, c["ArrDelay"]))),
    53: ("NA, null and blanks", lambda week: written(week, "TaxiOut", lambda v: ["NA", "null", "", f"{v:g}"][min(int(v) % 20, 3)])),
}  # fmt: skip


folder = Path("flights")
folder.mkdir(exist_ok=True)
for week in range(1, 55):
    content = MESS[week][1](week) if week in MESS else text(flights(week))
    (folder / f"week-{week:02}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
(folder / "README.txt").write_text("Ask Ann what TaxiOut means.\n")
