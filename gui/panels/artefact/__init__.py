"""The panel on artefacts of PCA: the components of the shown positions beside random ones.

The comparison is in `geometry.measures.pca_artefact`.
"""
