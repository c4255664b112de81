"""Pictures of graphs and runs, and the self-contained HTML report."""

from dagopt.report.html import write_report
from dagopt.report.path_plot import plot_path
from dagopt.report.plots import plot_comparison, plot_convergence, plot_graph

__all__ = ["plot_comparison", "plot_convergence", "plot_graph", "plot_path", "write_report"]
