"""What happened in a run, as one self-contained page and as tables for the terminal."""

from robustream.report.collect import collect
from robustream.report.data import ReportData
from robustream.report.page import render_html, write_report
from robustream.report.tables import nodes_table, summary_tables

__all__ = ["ReportData", "collect", "nodes_table", "render_html", "summary_tables", "write_report"]
