"""The sphere of rows of mean norm in the shown components, and its caption."""

from __future__ import annotations

from dataclasses import dataclass

from geometry.measures.sphere import SphereSection, sphere_section
from geometry.measures.stretches import measure_stretch
from gui.state.session import Session
from gui.style.theme import format_number


@dataclass(frozen=True, eq=False, slots=True)
class NormSphere:
    """The surface of rows of mean norm in the shown components, and its caption."""

    section: SphereSection | None  # The surface; None if there is none
    caption: str  # Its description, or why there is none


def norm_sphere(session: Session) -> NormSphere | None:
    """Return a session's norm sphere; None if it is not wanted or norms are unknown."""
    curve, norms = session.curve, session.norms
    if not session.sphere or curve is None or norms is None:
        return None
    shown = {k for k in curve.components if k <= len(curve.pca.components)}
    if len(shown) != 3:
        return NormSphere(None, f"no sphere of mean norm: it takes 3 components, not {len(shown)}")
    basis = curve.pca.components[[k - 1 for k in curve.components]]
    section = sphere_section(curve.pca.mean, basis, norms.mean, centred=norms.centred)
    kind = "row-centred norm" if norms.centred else "norm"
    mean = format_number(norms.mean)
    if section.axes is None:
        least = format_number(section.distance)
        return NormSphere(None, f"no sphere: {kind}s begin at {least} here, their mean is {mean}")
    stretch = measure_stretch(norms.values, norms.after)
    over = "all" if stretch.whole else f"{stretch.first}–{stretch.last}"
    longest, *_, shortest = (format_number(radius) for radius in section.radii)
    size = f"radius {longest}" if longest == shortest else f"radii {shortest}–{longest}"
    what = "ellipsoid" if norms.centred else "sphere"
    return NormSphere(section, f"{what}: {kind} {mean} (mean of {over}) · {size} here")
