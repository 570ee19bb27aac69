"""What is no cluster, as the address of one: a sentence, also at the end of a real process."""

import pytest

from tests.command_line import assert_refused
from tests.geometry.survey.real_cluster import serving


@pytest.mark.slow
def test_what_is_no_cluster_is_said_in_one_line(app):
    words = ("survey", "sample", "--out", app.home / "a.parquet", "--scheduler")
    done = app.run(*words, "foo", environment={})
    assert_refused(done, "'foo' is not the address of a scheduler")
    with serving(b"") as address:
        assert_refused(app.run(*words, address, environment={}), "not answered")
    done = app.run(*words, address, environment={})
    assert_refused(done, f"There is no scheduler at {address}", "Connection refused")
