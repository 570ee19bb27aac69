"""Surveys: thousands of checkpoints measured by many processes, one row each in a Parquet file.

In the order of use::

    entries = expand(["stanford-gpt2"], network)      # populations.py: which checkpoints
    with SurveyFile(out, settings) as file:           # parts.py: what is known, and what comes
        run_survey(entries, file, …)                  # run.py: on Dask, here or on a cluster

``rows.py`` measures one checkpoint: what a worker does. Dask and pyarrow are an extra, and imported
when a survey runs.
"""
