"""The geometry of positional embeddings: numbers only, no window.

The names below are the public face, for scripts and notebooks; ``resources/guide/python.md`` lists
what each is for. They work on numpy arrays and on checkpoints, and each is imported when first
used, so that ``import geometry`` takes no time. Nothing here imports Qt, VTK, pyvista or
:mod:`gui`.

The packages, each of which imports only those after it: :mod:`geometry.survey`,
:mod:`geometry.claims`,
:mod:`geometry.training`, :mod:`geometry.inside`, :mod:`geometry.history`,
:mod:`geometry.models`, :mod:`geometry.measures`, :mod:`geometry.pca`, :mod:`geometry.hub`,
:mod:`geometry.checkpoints`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geometry.checkpoints.errors import HelixscopeError as HelixscopeError
    from geometry.checkpoints.errors import RangeError as RangeError
    from geometry.checkpoints.errors import TensorUnavailable as TensorUnavailable
    from geometry.claims.claims import check_claims as check_claims
    from geometry.claims.effect_claims import check_effects as check_effects
    from geometry.claims.group_claims import check_groups as check_groups
    from geometry.claims.group_claims import member as member
    from geometry.claims.measurements import Measurements as Measurements
    from geometry.claims.measurements import Scope as Scope
    from geometry.claims.published import compare_all as compare_published
    from geometry.claims.report import report as report
    from geometry.claims.scalar_results import scalar_results as scalar_results
    from geometry.evidence.drawn_tables import drawn_tables as drawn_tables
    from geometry.evidence.null import band_of as band_of
    from geometry.evidence.null import null_of as null_of
    from geometry.evidence.null import strictest as strictest
    from geometry.evidence.null import weigh as weigh
    from geometry.evidence.random_frames import random_frame as random_frame
    from geometry.evidence.random_frames import shared_energy as shared_energy
    from geometry.evidence.turning_nulls import turning_nulls as turning_nulls
    from geometry.evidence.turning_share import turning_share as turning_share
    from geometry.history.helices import fit_helices as fit_helices
    from geometry.history.here import history_here as history_here
    from geometry.history.last_position import last_position as last_position
    from geometry.history.sparse_directions import sparse_directions as sparse_directions
    from geometry.history.timelapse import make_timelapse as make_timelapse
    from geometry.inside.intervene import changed_table as changed_table
    from geometry.inside.intervene import intervene as intervene
    from geometry.inside.prompt import run_prompt as run_prompt
    from geometry.measures.alignment import align as align
    from geometry.measures.alignment import angles_between as angles_between
    from geometry.measures.alignment import disparity as disparity
    from geometry.measures.alignment import in_basis as in_basis
    from geometry.measures.alignment import share_held as share_held
    from geometry.measures.directions import singular_directions as singular_directions
    from geometry.measures.extension import extend_table as extend_table
    from geometry.measures.extension import extension as extension
    from geometry.measures.fourier import column_spectra as column_spectra
    from geometry.measures.fourier import fourier as fourier
    from geometry.measures.fourier import phase_shifts as phase_shifts
    from geometry.measures.head_lookback import look_back_heads as look_back_heads
    from geometry.measures.interference import MEASURES as MEASURES
    from geometry.measures.interference import interference as interference
    from geometry.measures.interference import random_pairs as random_pairs
    from geometry.measures.kernels import attention_map as attention_map
    from geometry.measures.kernels import average_blocks as average_blocks
    from geometry.measures.kernels import head_kernels as head_kernels
    from geometry.measures.layernorm import layernorm_errors as layernorm_errors
    from geometry.measures.layernorm import token_position_cosines as token_position_cosines
    from geometry.measures.line_or_helix import compare as line_or_helix
    from geometry.measures.lookback import follow_turning as follow_turning
    from geometry.measures.lookback_range import look_back_nulls as look_back_nulls
    from geometry.measures.lookback_range import look_back_range as look_back_range
    from geometry.measures.neighbours import pair_distance as pair_distance
    from geometry.measures.norms import norm_profile as norm_profile
    from geometry.measures.norms import outlyingness as outlyingness
    from geometry.measures.overlaps import capture as capture
    from geometry.measures.overlaps import corner_contrast as corner_contrast
    from geometry.measures.overlaps import random_directions as random_directions
    from geometry.measures.overlaps import sparsity as sparsity
    from geometry.measures.overlaps import sparsity_nulls as sparsity_nulls
    from geometry.measures.overlaps import squared_overlaps as squared_overlaps
    from geometry.measures.overlaps import top3 as top3
    from geometry.measures.probes import centred_stable_rank as centred_stable_rank
    from geometry.measures.probes import neighbour_mean_r2 as neighbour_mean_r2
    from geometry.measures.probes import order_probe as order_probe
    from geometry.measures.probes import position_probe as position_probe
    from geometry.measures.rotary import lag_kernel as lag_kernel
    from geometry.measures.rotary import turning as turning
    from geometry.measures.rotary import turns as turns
    from geometry.measures.roughness import roughness as roughness
    from geometry.measures.row_lengths import row_lengths as row_lengths
    from geometry.measures.shape import fit_shapes as fit_shapes
    from geometry.measures.similarity import largest_rise as largest_rise
    from geometry.measures.similarity import mean_by_lag as mean_by_lag
    from geometry.measures.similarity import mean_by_offset as mean_by_offset
    from geometry.measures.similarity import patch_mosaic as patch_mosaic
    from geometry.measures.similarity import similarity as similarity
    from geometry.measures.similarity import similarity_nulls as similarity_nulls
    from geometry.measures.single_dimensions import best_sinusoids as best_sinusoids
    from geometry.measures.single_dimensions import r2_after_projection as r2_after_projection
    from geometry.measures.spectra import spectrum as spectrum
    from geometry.measures.sphere import sphere_section as sphere_section
    from geometry.measures.stretches import measure_stretch as measure_stretch
    from geometry.measures.synthetic import SyntheticCurve as SyntheticCurve
    from geometry.models.bias_heads import bias_heads as bias_heads
    from geometry.models.bias_heads import offset_attention as offset_attention
    from geometry.models.head_projections import project_heads as project_heads
    from geometry.models.kernel_nulls import kernel_nulls as kernel_nulls
    from geometry.models.model import PositionalModel as PositionalModel
    from geometry.models.pair_use import pair_use as pair_use
    from geometry.models.residual_stream import ResidualStream as ResidualStream
    from geometry.models.residual_stream import Subject as Subject
    from geometry.models.sources.opening import open_source as open_model
    from geometry.pca.components import PositionPCA as PositionPCA
    from geometry.pca.curve import place_curve as place_curve
    from geometry.pca.pca import fit_pca as fit_pca
    from geometry.pca.pca import off_subspace_residual as off_subspace_residual

_HOMES = {
    "open_model": "models.sources.opening:open_source",
    "PositionalModel": "models.model",
    "Subject": "models.residual_stream",
    "ResidualStream": "models.residual_stream",
    "HelixscopeError": "checkpoints.errors",
    "RangeError": "checkpoints.errors",
    "TensorUnavailable": "checkpoints.errors",
    "fit_pca": "pca.pca",
    "PositionPCA": "pca.components",
    "off_subspace_residual": "pca.pca",
    "place_curve": "pca.curve",
    "norm_profile": "measures.norms",
    "outlyingness": "measures.norms",
    "row_lengths": "measures.row_lengths",
    "measure_stretch": "measures.stretches",
    "sphere_section": "measures.sphere",
    "similarity": "measures.similarity",
    "mean_by_lag": "measures.similarity",
    "mean_by_offset": "measures.similarity",
    "patch_mosaic": "measures.similarity",
    "largest_rise": "measures.similarity",
    "similarity_nulls": "measures.similarity",
    "pair_distance": "measures.neighbours",
    "best_sinusoids": "measures.single_dimensions",
    "r2_after_projection": "measures.single_dimensions",
    "fit_shapes": "measures.shape",
    "drawn_tables": "evidence.drawn_tables",
    "band_of": "evidence.null",
    "null_of": "evidence.null",
    "strictest": "evidence.null",
    "weigh": "evidence.null",
    "random_frame": "evidence.random_frames",
    "shared_energy": "evidence.random_frames",
    "turning_nulls": "evidence.turning_nulls",
    "turning_share": "evidence.turning_share",
    "lag_kernel": "measures.rotary",
    "turning": "measures.rotary",
    "turns": "measures.rotary",
    "roughness": "measures.roughness",
    "position_probe": "measures.probes",
    "order_probe": "measures.probes",
    "centred_stable_rank": "measures.probes",
    "neighbour_mean_r2": "measures.probes",
    "look_back_range": "measures.lookback_range",
    "look_back_nulls": "measures.lookback_range",
    "look_back_heads": "measures.head_lookback",
    "follow_turning": "measures.lookback",
    "SyntheticCurve": "measures.synthetic",
    "line_or_helix": "measures.line_or_helix:compare",
    "align": "measures.alignment",
    "disparity": "measures.alignment",
    "in_basis": "measures.alignment",
    "share_held": "measures.alignment",
    "angles_between": "measures.alignment",
    "spectrum": "measures.spectra",
    "singular_directions": "measures.directions",
    "squared_overlaps": "measures.overlaps",
    "corner_contrast": "measures.overlaps",
    "top3": "measures.overlaps",
    "capture": "measures.overlaps",
    "sparsity": "measures.overlaps",
    "sparsity_nulls": "measures.overlaps",
    "random_directions": "measures.overlaps",
    "layernorm_errors": "measures.layernorm",
    "token_position_cosines": "measures.layernorm",
    "interference": "measures.interference",
    "random_pairs": "measures.interference",
    "MEASURES": "measures.interference",
    "bias_heads": "models.bias_heads",
    "offset_attention": "models.bias_heads",
    "project_heads": "models.head_projections",
    "kernel_nulls": "models.kernel_nulls",
    "pair_use": "models.pair_use",
    "extend_table": "measures.extension",
    "extension": "measures.extension",
    "column_spectra": "measures.fourier",
    "fourier": "measures.fourier",
    "phase_shifts": "measures.fourier",
    "head_kernels": "measures.kernels",
    "attention_map": "measures.kernels",
    "average_blocks": "measures.kernels",
    "changed_table": "inside.intervene",
    "intervene": "inside.intervene",
    "run_prompt": "inside.prompt",
    "history_here": "history.here",
    "make_timelapse": "history.timelapse",
    "fit_helices": "history.helices",
    "last_position": "history.last_position",
    "sparse_directions": "history.sparse_directions",
    "Measurements": "claims.measurements",
    "Scope": "claims.measurements",
    "check_claims": "claims.claims",
    "check_effects": "claims.effect_claims",
    "check_groups": "claims.group_claims",
    "member": "claims.group_claims",
    "scalar_results": "claims.scalar_results",
    "compare_published": "claims.published:compare_all",
    "report": "claims.report",
}
"""Where each name is defined: a module, and its name there if that is another one."""

__all__ = [
    "MEASURES",
    "HelixscopeError",
    "Measurements",
    "PositionPCA",
    "PositionalModel",
    "RangeError",
    "ResidualStream",
    "Scope",
    "Subject",
    "SyntheticCurve",
    "TensorUnavailable",
    "align",
    "angles_between",
    "attention_map",
    "average_blocks",
    "band_of",
    "best_sinusoids",
    "bias_heads",
    "capture",
    "centred_stable_rank",
    "changed_table",
    "check_claims",
    "check_effects",
    "check_groups",
    "column_spectra",
    "compare_published",
    "corner_contrast",
    "disparity",
    "drawn_tables",
    "extend_table",
    "extension",
    "fit_helices",
    "fit_pca",
    "fit_shapes",
    "follow_turning",
    "fourier",
    "head_kernels",
    "history_here",
    "in_basis",
    "interference",
    "intervene",
    "kernel_nulls",
    "lag_kernel",
    "largest_rise",
    "last_position",
    "layernorm_errors",
    "line_or_helix",
    "look_back_heads",
    "look_back_nulls",
    "look_back_range",
    "make_timelapse",
    "mean_by_lag",
    "mean_by_offset",
    "measure_stretch",
    "member",
    "neighbour_mean_r2",
    "norm_profile",
    "null_of",
    "off_subspace_residual",
    "offset_attention",
    "open_model",
    "order_probe",
    "outlyingness",
    "pair_distance",
    "pair_use",
    "patch_mosaic",
    "phase_shifts",
    "place_curve",
    "position_probe",
    "project_heads",
    "r2_after_projection",
    "random_directions",
    "random_frame",
    "random_pairs",
    "report",
    "roughness",
    "row_lengths",
    "run_prompt",
    "scalar_results",
    "share_held",
    "shared_energy",
    "similarity",
    "similarity_nulls",
    "singular_directions",
    "sparse_directions",
    "sparsity",
    "sparsity_nulls",
    "spectrum",
    "sphere_section",
    "squared_overlaps",
    "strictest",
    "token_position_cosines",
    "top3",
    "turning",
    "turning_nulls",
    "turning_share",
    "turns",
    "weigh",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found: object = getattr(import_module(f"{__name__}.{module}"), attribute or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
