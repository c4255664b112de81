"""The public names, and where each lives; they are imported at first use."""

from . import datasets as datasets
from .data.doctor import examine as examine
from .data.table import as_table as as_table
from .effects.effect import effect as effect
from .errors import DagoptError as DagoptError
from .errors import InputError as InputError
from .estimators import CGDCA as CGDCA
from .estimators import CGMINLP as CGMINLP
from .estimators import MMHC as MMHC
from .estimators import BranchAndCut as BranchAndCut
from .estimators import CuttingPlanes as CuttingPlanes
from .estimators import ExactDP as ExactDP
from .estimators import HillClimbing as HillClimbing
from .estimators import OrderSearch as OrderSearch
from .estimators import StablePC as StablePC
from .estimators import Tabu as Tabu
from .evidence.agreement import Bootstrap as Bootstrap
from .evidence.bootstrap import bootstrap as bootstrap
from .evidence.cross_validation import CrossValidation as CrossValidation
from .evidence.cross_validation import cross_validate as cross_validate
from .evidence.explanation import Explanation as Explanation
from .evidence.learned_path import PenaltyPath as PenaltyPath
from .evidence.penalty_path import path as path
from .evidence.posterior import EdgePosterior as EdgePosterior
from .evidence.posterior import edge_posterior as edge_posterior
from .graph.dag import Graph as Graph
from .graph.formats import read_graph as read_graph
from .graph.formats import write_graph as write_graph
from .graph.metrics import compare as compare
from .knowledge import Constraints as Constraints
from .learning import learn as learn
from .networks.fitted.fitting import fit as fit
from .networks.simulate import simulate as simulate
from .report.plots import plot_comparison as plot_comparison
from .result import Result as Result
from .scores.build import make_score as make_score
from .scores.build import score as score
from .scores.build import score_table as score_table

__version__: str
