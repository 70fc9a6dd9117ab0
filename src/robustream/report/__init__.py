"""What happened in a run, as one self-contained page and as tables for the terminal."""

from robustream.report.collect import collect
from robustream.report.data import ReportData
from robustream.report.page import render_html, write_report
from robustream.report.tables import summary_tables
from robustream.report.trees import from_tree, to_tree

__all__ = ["ReportData", "collect", "from_tree", "render_html", "summary_tables", "to_tree", "write_report"]
