"""The public names, and where each lives; they are imported at first use."""

from .confidence.agreement import Bootstrap as Bootstrap
from .confidence.bootstrap import bootstrap as bootstrap
from .confidence.cross_validation import CrossValidation as CrossValidation
from .confidence.cross_validation import cross_validate as cross_validate
from .confidence.learned_path import PenaltyPath as PenaltyPath
from .confidence.penalty_path import path as path
from .confidence.posterior import EdgePosterior as EdgePosterior
from .confidence.posterior import edge_posterior as edge_posterior
from .data.doctor import examine as examine
from .data.statistics import Statistics as Statistics
from .data.summarise import summarise as summarise
from .data.table import as_table as as_table
from .errors import DagoptError as DagoptError
from .errors import DataWarning as DataWarning
from .errors import InputError as InputError
from .graph.constraints import Constraints as Constraints
from .graph.dag import Graph as Graph
from .graph.formats import read_graph as read_graph
from .graph.formats import write_graph as write_graph
from .graph.metrics import compare as compare
from .learning.learning import learn as learn
from .learning.updating import update as update
from .networks import datasets as datasets
from .networks.effects.effect import effect as effect
from .networks.fitted.fitting import fit as fit
from .networks.series.simulated import simulate_series as simulate_series
from .networks.simulate import simulate as simulate
from .report.plots import plot_comparison as plot_comparison
from .results.explanation import Explanation as Explanation
from .results.result import Result as Result
from .scores.build import make_score as make_score
from .scores.build import score as score
from .scores.build import score_table as score_table
from .sklearn import CGDCA as CGDCA
from .sklearn import CGMINLP as CGMINLP
from .sklearn import MMHC as MMHC
from .sklearn import BranchAndCut as BranchAndCut
from .sklearn import CuttingPlanes as CuttingPlanes
from .sklearn import ExactDP as ExactDP
from .sklearn import HillClimbing as HillClimbing
from .sklearn import OrderSearch as OrderSearch
from .sklearn import StablePC as StablePC
from .sklearn import Tabu as Tabu
from .verifier.checking import verify as verify

__version__: str
