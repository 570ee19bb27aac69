"""The tensor cache as its tests look at it: entries and their files."""

from hypothesis import HealthCheck, settings

REPO, COMMIT = "openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"
OTHER = "0" * 40

slow = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def data_of(cache, name, repo=REPO, commit=COMMIT):
    found = cache.get(repo, commit, name)
    return None if found is None else found.tobytes()


def files(cache):
    return sorted(p for p in cache.root.rglob("*") if p.is_file())
