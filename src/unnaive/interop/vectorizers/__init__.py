"""scikit-learn's vectorizers, counted by the native kernel."""

from unnaive.base.extras import import_extra

import_extra("sklearn", "counting by scikit-learn's vectorizers")
