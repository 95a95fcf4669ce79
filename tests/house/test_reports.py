"""The reports of tests that run side by side arrive, whatever text a failure holds."""

import pytest


def test_a_failure_about_a_lone_surrogate_is_reported(pytester: pytest.Pytester) -> None:
    """A process of xdist cannot send such a text as it is, and would end the whole run."""
    hook = "from tests.conftest import pytest_report_to_serializable  # noqa: F401\n"
    pytester.makeconftest(hook)
    pytester.makepyfile("def test_it():\n    text = 'a' + chr(0xD800)\n    assert text == 'b', text\n")
    result = pytester.runpytest_subprocess("-n", "1", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
