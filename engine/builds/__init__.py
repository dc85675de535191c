"""Models put together with a device and what runs their steps on it; the registry names these builders."""
