"""Training histories: a model's position table as it was at steps of its training.

Where they come from: ``history.safetensors`` beside a model, several state dicts in its file, a
local folder with steps such as ``checkpoint-1000``, a model on the Hub with such revisions. In the
order of use::

    origin = find_history(model)                    # origins.py: Origin or None; asks no network
    history = read_history(Path(origin.source))     # record.py: if origin.kind is "file"

    # else a selection of checkpoints ("folder", "hub") is collected:
    snapshots = list_snapshots(origin, network)     # origins.py: tuple[Snapshot]; Hub: one request
    plan = plan_history(origin, snapshots, 40)      # plan.py: HistoryPlan, log-spaced; its
                                                    #   bytes_to_fetch is the budget to show
    gathering = Gathering(plan, network)            # gathering.py
    history = gathering.run(transfer, on_progress)  # on a worker; after Cancelled or HubError,
    gathering.history                               #   what has arrived; run() again resumes
    gathering.skipped                               #   tuple[Skipped]: step, why

    timelapse = make_timelapse(history, (1, last), report)  # timelapse.py: all coordinates, ready:
    timelapse.coordinates("frozen")                 #   (n, n_positions, 3) float32; or "aligned"
    helices = fit_helices(timelapse, report)        # helices.py: R² and turns by step
    riddle = last_position(history)                 # last_position.py: why the last row is small

``history_here(model)`` of here.py does the first half at once, without the network.
While a training goes on, ``progress_of(origin)`` of going_on.py differs once there is more, and the
functions above take the ``earlier`` history with its result, so that only new tables are read.
``grow_helices`` yields partial results; ``gathering.history`` has the tables so far.
Long computations call ``report(share, message)`` regularly, which may raise to stop them.
"""
