"""Pictures of graphs and runs, and the self-contained HTML report; each is imported at first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "html": ["write_report"],
        "path_plot": ["plot_path"],
        "plots": ["plot_comparison", "plot_convergence", "plot_graph"],
    },
)
