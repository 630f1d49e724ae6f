"""What holds for the tests of every room."""

import hypothesis

# How long an example takes says nothing: machines that others use too have failed tests by it.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
