"""Windows that nobody sees: Qt draws into memory, so that these tests run on a machine without a display."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before anything imports Qt
os.environ.setdefault("PYTEST_QT_API", "pyside6")
