"""All measurements of a model, as the dictionary that becomes ``report.json``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError, RangeError, TensorUnavailable
from geometry.checkpoints.result import ResultDict
from geometry.claims.claim import CannotTell, Verdict, adjust_verdicts
from geometry.claims.claims import check_claims
from geometry.claims.effect_claims import check_effects
from geometry.claims.group_claims import check_groups, member
from geometry.claims.measured_range import LAGS as LOOK_BACK_LAGS
from geometry.claims.measurements import LEADING, Measurements, Scope
from geometry.claims.published import compare_published
from geometry.evidence.bootstrap import Intervals
from geometry.evidence.null import Null, least_favourable
from geometry.evidence.shape_distance import shape_distance
from geometry.hub.faults import Offline
from geometry.inside.effects import Effects
from geometry.measures.layernorm import LayerNormErrors, Version
from geometry.measures.lookback import KINDS, LookBack
from geometry.measures.shape import ShapeFit
from geometry.measures.single_dimensions import SINUSOID
from geometry.models.model import PositionalModel
from geometry.models.pair_use import pair_use
from geometry.models.residual_stream import Name
from geometry.models.schemes.lags import Lags
from geometry.pca.curve import why_fewer

NOT_HERE = "not on this machine, and the network may not be used"
"""Reason for a section that would need a download."""
LAGS = (1, 2, 5, 10, 20, 50, 100, 200, 300, 500)
_WEIGHTS: tuple[Name, ...] = ("W_Q", "W_K", "W_V", "W_O", "W_in")

#: Pairs whose overlaps are reported: rows, columns.
PAIRS: tuple[tuple[Name, Name], ...] = (
    ("E", "P"),
    ("P", "E"),
    *((weight, table) for weight in _WEIGHTS for table in ("P", "E")),
)

# Matrices besides P that each section needs; it is impossible if one of them is missing.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "spectrum.E": ("W_E",),
    "spectrum.stable_rank.E": ("W_E",),
    "spectrum.energy_top30.E": ("W_E",),
    "capture": ("W_E",),
    "overlaps.E_P": ("W_E",),
    "overlaps.P_E": ("W_E",),
    **{f"overlaps.{name}_P": (name,) for name in _WEIGHTS},
    **{f"overlaps.{name}_E": (name, "W_E") for name in _WEIGHTS},
    "layernorm": ("W_E",),
    "kernels": ("W_Q", "W_K"),
}


def report(
    model: PositionalModel,
    *,
    positions: tuple[int, int] | None = None,
    layer: int = 0,
    rank: int | None = None,
    after: int = 100,
    fold_ln: bool = False,
    beside: Sequence[PositionalModel] = (),
    effects: Effects | None = None,
    nulls: bool = True,
) -> dict[str, Any]:
    """Measure a model.

    Parameters
    ----------
    model
        The open model.
    positions
        Inclusive range, for everything that depends on it; by default
        :attr:`PositionalModel.usual_positions`, without position 0 and untrained last rows.
    layer
        Layer of the weights in `overlaps`, from 0.
    rank
        Number of P's directions that count as its subspace in `capture`; if None, 30, or fewer for
        a smaller table.
    after
        First position of the stretch over which the norms' stability is measured.
    fold_ln
        Multiply the inputs of weights by the gain of the LayerNorm before them.
    beside
        Models to compare with, for the claims about groups.
    effects
        Of changes of the model's positions, for the claims about what these do.
    nulls
        Draw the null distributions, which takes seconds; without them a claim holds if its number
        is as claimed.

    Returns
    -------
    dict
        Sections model, scheme, missing, pca, norms, … of plain numbers, strings, lists and
        dictionaries: ready to be written as JSON. Sections that are not measured are None: all
        of a model without a table but the model, its scheme and the claims.
        ``missing`` has, by dotted name, what cannot be measured, and why.

    Raises
    ------
    RangeError
        When the range leaves the table, the rank is not between 1 and min(n_positions, d_model),
        or there is no such layer.
    """
    scope = Scope(positions, layer, rank, after, fold_ln, nulls)
    measured = Measurements(model, scope)
    found = describe(measured, lambda measured: check_all(measured, beside, effects))
    distances = {"distances": shape_distances(measured, beside)} if beside else {}
    return ResultDict(found | distances)


def shape_distances(
    measured: Measurements, beside: Sequence[PositionalModel]
) -> list[dict[str, Any]]:
    """Describe the distance of a model's shape from others', over the range or the part they have.

    Parameters
    ----------
    measured
        The model's measurements.
    beside
        The others; those without a table of positions are left out.
    """
    first, last = measured.positions
    found = []
    for other in beside:
        end = min(last, other.usual_positions[1])
        if measured.model.no_claims or other.no_claims or end <= first:
            continue
        own, theirs = (model.W_pos[first : end + 1] for model in (measured.model, other))
        try:
            distance = shape_distance(own, theirs)
        except ValueError:  # one does not vary
            continue
        found.append(
            {
                "source": other.source.text,
                "positions": [first, end],
                "degrees": distance.degrees,
                "interval": None if distance.interval is None else list(distance.interval),
                "same_curve": distance.same_curve,
            }
        )
    return found


def check_all(
    measured: Measurements,
    beside: Sequence[PositionalModel] = (),
    effects: Effects | None = None,
) -> tuple[Verdict, ...]:
    """Check every claim: those about one model, what its positions do, and about it and others.

    Parameters
    ----------
    measured
        The model's measurements.
    beside
        The others.
    effects
        Of changes of the model's positions; None if they are not measured.
    """
    group = []
    # Each model once, whatever it is called.
    models = {model.fingerprint: model for model in (*reversed(beside), measured.model)}
    for model in reversed(models.values()) if beside else ():
        if model.no_claims:
            continue
        try:
            group.append(member(Measurements(model)))
        except CannotTell:
            continue
    every = (*check_claims(measured), *check_effects(effects), *check_groups(group))
    return adjust_verdicts(every, measured.model.notes)


def describe(
    measured: Measurements, check: Callable[[Measurements], Sequence[Verdict]] = check_all
) -> dict[str, Any]:
    """Return all measurements; see :func:`report`.

    Parameters
    ----------
    measured
        The measurements, which are cached there.
    check
        Checks the claims; may be replaced to get at the verdicts.
    """
    missing: dict[str, str] = {}

    def possible(section: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """Measure a section; None if the checkpoint lacks a tensor or a download is not allowed."""
        try:
            return measure()
        except (TensorUnavailable, Offline) as error:
            names = [name for name in NEEDS if name == section or name.startswith(f"{section}.")]
            for name in names or [section]:  # it may need more than the matrices in NEEDS
                missing.setdefault(name, _reason(error))
            return None

    def overlaps() -> dict[str, Any]:
        return {
            f"{rows}_{columns}": possible(
                f"overlaps.{rows}_{columns}", partial(_overlap, measured, rows, columns)
            )
            for rows, columns in PAIRS
        }

    sections: dict[str, Callable[[], Any]] = {
        "pca": lambda: _pca(measured, missing),
        "norms": lambda: _norms(measured),
        "spectrum": lambda: _spectrum(measured, possible("spectrum", lambda: _sums(measured, "E"))),
        "capture": lambda: possible("capture", lambda: _capture(measured)),
        "overlaps": overlaps,
        "directions": lambda: _directions(measured),
        "similarity": lambda: _similarity(measured),
        "dimensions": lambda: _dimensions(measured),
        "layernorm": lambda: possible("layernorm", lambda: _layernorm(measured)),
        "shape": lambda: _shape(measured, missing),
        "lookback": lambda: _lookback(measured, missing),
        "kernels": lambda: possible("kernels", lambda: _kernels(measured)),
        "probes": lambda: _probes(measured, missing),
        "claims": lambda: _claims(check(measured)),
        "published": lambda: _published(measured),
    }
    if why := measured.model.no_table:
        missing |= {name: why for name in sections if name != "claims"}
        sections |= dict.fromkeys(missing, lambda: None)
    else:
        missing |= _missing(measured.model)
    found = {
        "model": _model(measured.model),
        "scheme": _scheme(measured.model, missing),
        "missing": missing,
        **{name: measure() for name, measure in sections.items()},
    }
    known: dict[str, Any] = _known(found)
    return known


def _known(value: Any) -> Any:
    """Return the same with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _model(model: PositionalModel) -> dict[str, Any]:
    """Describe the model; without the keys of commit and chosen table where there is none."""
    return {
        "source": model.source.text,
        **({"commit": model.commit} if model.commit else {}),
        **({"table": model.table_choice} if model.table_choice is not None else {}),
        "family": model.family,
        "fingerprint": model.fingerprint,
        "n_positions": model.n_positions,
        "d_model": model.d_model,
        "d_vocab": model.d_vocab,
        "n_layers": model.n_layers,
        "n_heads": model.n_heads,
        "warnings": list(model.warnings),
        "notes": [{"sentence": note.sentence, "claims": list(note.claims)} for note in model.notes],
    }


def _scheme(model: PositionalModel, missing: dict[str, str]) -> dict[str, Any]:
    """Describe how the model knows positions; what is lacking of that is noted in ``missing``."""
    kind: dict[str, Any] = {"kind": model.scheme}
    if model.lags is not None:
        return {**kind, **_lags(model, model.lags)}
    if model.grid is not None:
        rows, columns = model.grid
        return {**kind, "rows": rows, "columns": columns, "prefix_rows": model.prefix_rows}
    if model.rows is not None:
        return {**kind, "labels": list(model.rows.labels)}
    turned = model.rotary
    if turned is None:
        return kind
    by_type = {
        name: {"base": base, "inv_freq": rates.tolist()}
        for name, (base, rates) in turned.by_layer_type.items()
    }
    return {
        **kind,
        "base": turned.base,
        "d_head": turned.d_head,
        "n_pairs": turned.n_pairs,
        "pairing": turned.pairing,
        "scaling": turned.scaling,
        "attention_factor": turned.factor,
        "inv_freq": turned.rates.tolist(),
        "by_layer_type": by_type or None,
        "layers_without": list(turned.layers_without),
        "use": _use(model, missing),
    }


def _lags(model: PositionalModel, lags: Lags) -> dict[str, Any]:
    """Describe what a model has for each lag, which is here that of the key from the query."""
    if lags.kind == "alibi":
        return {"slopes": list(lags.slopes)}
    if lags.net is not None and lags.window is not None:
        down, across = (np.arange(size) - size // 2 for size in lags.net)
        offsets = np.stack(np.meshgrid(down, across, indexing="ij"), axis=-1).reshape(-1, 2)
        return {
            "window": list(lags.window),
            "offsets": (-offsets).tolist(),
            "bias": model.W_pos.T.tolist(),
        }
    rows = [-(lags.first + row) for row in range(lags.count)]
    described: dict[str, Any] = {"stack": lags.side}
    described["buckets" if lags.buckets else "lags"] = rows
    if lags.kind == "relative":
        described["bias"] = model.W_pos.T.tolist()
    return described


def _use(model: PositionalModel, missing: dict[str, str]) -> list[list[float]] | None:
    """Return how much each head of the first layer uses each pair; None without its weights."""
    try:
        use: list[list[float]] = pair_use(model).use.tolist()
        return use
    except (TensorUnavailable, Offline) as error:
        missing["scheme.use"] = _reason(error)
        return None


def _reason(error: HelixscopeError) -> str:
    return NOT_HERE if isinstance(error, Offline) else str(error).rstrip(".")


def _missing(model: PositionalModel) -> dict[str, str]:
    absent = model.missing
    reasons = {
        section: [absent[name] for name in needs if name in absent]
        for section, needs in NEEDS.items()
    }
    # Each reason once, since a bare table lacks everything for the same one.
    return {section: "; ".join(dict.fromkeys(why)) for section, why in reasons.items() if why}


def _pca(measured: Measurements, missing: dict[str, str]) -> dict[str, Any]:
    """Describe the components; of a range that does not vary there are none."""
    pca = measured.pca
    if not pca.rank:
        missing["pca"] = why_fewer(pca)
    return {
        "positions": list(measured.positions),
        "centred": True,
        "explained_variance_ratio": pca.explained_variance_ratio.tolist() if pca.rank else None,
        "off_subspace_residual": measured.residual.tolist() if pca.rank else None,
    }


def _norms(measured: Measurements) -> dict[str, Any]:
    profile = measured.norms
    return {
        "values": profile.values.tolist(),
        "after": profile.after,
        "mean": profile.mean,
        "std": profile.std,
        "cv": profile.cv if profile.mean > 0.0 else None,
        "outliers": list(profile.outliers),
        "outliers_raw": list(profile.outliers_raw),
        "outliers_about_mean": list(profile.outliers_about_mean),
    }


def _sums(measured: Measurements, name: Name) -> dict[str, Any]:
    found = measured.spectrum(name)
    return {
        "values": found.singular_values.tolist(),
        "stable_rank": found.stable_rank,
        "energy_top30": found.energy_top30 if found.stable_rank > 0.0 else None,
    }


def _spectrum(measured: Measurements, E: dict[str, Any] | None) -> dict[str, Any]:
    both = {"P": _sums(measured, "P"), "E": E or {}}
    kinds = {
        kind: {name: sums.get(kind) for name, sums in both.items()}
        for kind in ("values", "stable_rank", "energy_top30")
    }
    return {**kinds.pop("values"), **kinds}


def _capture(measured: Measurements) -> dict[str, Any]:
    return {
        "rank": measured.capture_rank,
        "values": measured.capture.tolist(),
        "chance": measured.capture_chance,
    }


def _overlap(measured: Measurements, rows: Name, columns: Name) -> dict[str, Any]:
    sums = measured.overlap_sums(measured.subject(rows), measured.subject(columns))
    contrast = sums.contrast
    return {
        "rows": sums.rows,
        "columns": sums.columns,
        "chance": contrast.chance,
        "corner": contrast.corner,
        "contrast": {which: getattr(contrast, which) for which in ("TL", "TR", "BL", "BR")},
        "top3": sums.top3,
    }


def _directions(measured: Measurements) -> dict[str, Any]:
    sparse = measured.sparsity
    return {
        "context": measured.contexts.vectors[:LEADING].tolist(),
        "embedding": measured.directions("P").vectors[:LEADING].tolist(),
        "above_0_1": list(sparse.above_0_1),
        "above_0_1_union": len(sparse.above_0_1_union),
        "participation_ratio": list(sparse.participation_ratio),
        "mass_top40": list(sparse.mass_top40),
    }


def _similarity(measured: Measurements) -> dict[str, Any]:
    by_lag = measured.similarity.by_lag
    if not measured.rows.any():  # zeros are like nothing
        by_lag = np.full_like(by_lag, np.nan)
    return {
        "positions": list(measured.positions),
        "by_lag": {str(lag): float(by_lag[lag]) for lag in LAGS if lag < len(by_lag)},
    }


def _dimensions(measured: Measurements) -> dict[str, Any]:
    # Nothing explains a constant, and too few numbers are explained by any wave.
    varies = np.ptp(measured.rows, axis=0) > 0.0
    waves = varies & (len(measured.rows) > SINUSOID)
    return {
        "best_sinusoid_r2": np.where(waves, measured.sinusoids.r2, np.nan).tolist(),
        "after_projection_r2": np.where(varies, measured.projected_r2, np.nan).tolist(),
    }


def _layernorm(measured: Measurements) -> dict[str, Any]:
    errors, most = measured.layernorm, measured.cosines.most_alike(1)[0]
    return {
        "tokens_sampled": len(errors.tokens),
        "max_abs_cosine": {
            "value": most.value if measured.model.W_pos.any() else None,
            "token": _token(measured.model, most.token),
            "position": most.position,
        },
        "error": {
            "orthogonal": _median_and_p95(errors, "orthogonal"),
            "constant_norm": _median_and_p95(errors, "constant_norm"),
        },
    }


def _token(model: PositionalModel, token: int) -> str | int:
    """Return a token's text, or its number without a tokenizer."""
    try:
        text = model.token_text(token)
    except FileChanged:
        raise
    except HelixscopeError:
        return token
    return token if text is None else text


def _median_and_p95(errors: LayerNormErrors, version: Version) -> dict[str, Any]:
    """Describe the errors; their intervals are null where all tokens were taken."""
    median, p95 = np.percentile(getattr(errors, version), (50, 95))
    intervals = errors.intervals(version)
    return {
        "median": float(median),
        "p95": float(p95),
        "median_interval": None if intervals is None else list(intervals.median),
        "p95_interval": None if intervals is None else list(intervals.p95),
    }


def _shape(measured: Measurements, missing: dict[str, str]) -> dict[str, Any] | None:
    shapes = measured.shapes
    if shapes is None:
        missing["shape"] = why_fewer(measured.pca)
        return None
    curves: dict[str, Any] = {
        name: _curve(fit, best=fit is shapes.described) for name, fit in shapes.fits.items()
    }
    return {
        **curves,
        "best": shapes.best,
        "evidence": _evidence(measured),
        "interval": _interval(measured.intervals),
    }


def _interval(found: Intervals | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ends = {"turns": found.turns, "radius": found.radius, "B": found.b, "r2": found.r2}
    return {
        **{name: None if end is None else list(end) for name, end in ends.items()},
        "subspace_angle_deg": found.angle,
        "correlation": found.correlation,
        "draws": found.draws,
    }


def _curve(fit: ShapeFit, *, best: bool) -> dict[str, float | None]:
    score = None if np.isnan(fit.score) else fit.score
    numbers: dict[str, float | None] = {"r2": fit.r2, "score": score}
    if fit.name != "line":
        found = {"turns": fit.turns, "radius": fit.radius, "climb_per_turn": fit.climb_per_turn}
        numbers |= found if best else dict.fromkeys(found)
    return numbers


def _evidence(measured: Measurements) -> dict[str, Any] | None:
    evidence, nulls = measured.evidence, measured.turning_nulls
    if evidence is None:
        return None
    rule = measured.rule_nulls
    deciding = least_favourable(rule.values(), evidence.strength) if rule else None
    return {
        "B": evidence.b,
        "B_prime": evidence.b_prime,
        "turns": evidence.turns,
        "tier": evidence.tier,
        "remarkable": evidence.remarkable,
        "kind": evidence.kind,
        "share": evidence.share,
        "purity": evidence.purity,
        "pair_share": evidence.pair_share,
        "strength": evidence.strength,
        "nulls": {
            name: {
                "draws": one.draws,
                "B": list(one.band),
                "strength": list(rule[name].band),
                "strength_draws": rule[name].draws,
                "p": rule[name].p_value(evidence.strength),
            }
            for name, one in nulls.items()
        },
        "deciding": deciding
        and {
            "name": deciding.name,
            "draws": deciding.draws,
            "p": deciding.p_value(evidence.strength),
        },
    }


def _lookback(measured: Measurements, missing: dict[str, str]) -> dict[str, Any] | None:
    """Describe R² of the motions at some lags; None, with the reason, if there are none."""
    found = measured.look_back
    if found is None:
        long = f"the range has {len(measured.rows)} positions"
        missing["lookback"] = why_fewer(measured.pca) if measured.pca.rank < 3 else long
        return None
    fitted = [lag for lag in LOOK_BACK_LAGS if lag <= found["even_odd"].lags[-1]]
    return {
        "components": 3,
        "fit_r2": {
            str(lag): {
                **_r2(found["even_odd"], lag),
                "halves": _r2(found["halves"], lag),
                "angles_deg": [float(np.degrees(found["even_odd"].motion(lag).screw.angle))],
            }
            for lag in fitted
        },
    }


def _r2(found: LookBack, lag: int) -> dict[str, float]:
    at = found.index(lag)
    return {kind: float(found.r2[kind][at]) for kind in KINDS}


def _kernels(measured: Measurements) -> dict[str, Any]:
    """Describe what each head of the layer attends to, without tokens."""
    found = measured.kernels()
    scores = zip(found.previous_token, found.own, found.mass_lag_0_10, strict=True)
    return {
        "layer": found.layer,
        "heads": [
            {"previous_token": float(one), "self": float(own), "mass_lag_0_10": float(near)}
            for one, own, near in scores
        ],
    }


def _probes(measured: Measurements, missing: dict[str, str]) -> dict[str, float] | None:
    """Describe the errors of the probes: positions, and percent of pairs.

    None for a table that is too small, with the reason in ``missing``.
    """
    try:
        return {
            "position_mae": measured.position_probe.error,
            "order_error": measured.order_probe.error,
        }
    except RangeError as error:
        missing["probes"] = str(error)
        return None


def _published(measured: Measurements) -> list[dict[str, Any]]:
    """Describe what papers give for this model beside what is measured; empty for most models."""
    return [
        {
            "source": one.published.source,
            "quantity": one.published.quantity,
            "published": one.published.value,
            "tolerance": one.published.tolerance,
            "ours": one.ours,
            "within": one.within,
        }
        for one in compare_published(measured)
    ]


def _claims(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [
        {
            "id": verdict.claim.id,
            "article": verdict.claim.article,
            "fact": verdict.claim.fact,
            "statement": verdict.claim.statement,
            "quantity": verdict.claim.quantity,
            "value": verdict.value,
            "expected": str(verdict.claim.expected),
            "reason": verdict.claim.reason,
            "holds": verdict.holds,
            "outcome": verdict.outcome,
            "null": _null(verdict.null),
            "p": verdict.p,
            "p_adjusted": verdict.p_adjusted,
            "nulls": _nulls(verdict),
            "by_construction": verdict.by_construction,
            "interval": None if verdict.interval is None else list(verdict.interval),
            "why_null": verdict.why_null,
        }
        for verdict in verdicts
    ]


def _null(null: Null | None) -> dict[str, Any] | None:
    if null is None:
        return None
    low, _, high = null.band
    return {"name": null.name, "draws": null.draws, "p5": low, "p95": high}


def _nulls(verdict: Verdict) -> dict[str, dict[str, Any]]:
    """Describe every null distribution beside which a number was judged, by its name."""
    described = {}
    for null in verdict.nulls:
        assert verdict.value is not None
        low, _, high = null.band
        p = null.p_value(verdict.value, verdict.claim.expected.side)
        described[null.name] = {"draws": null.draws, "p": p, "p5": low, "p95": high}
    return described
