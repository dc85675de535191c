"""The application: commands, audio devices and windows around the engine."""

__version__ = "0.1.0"
