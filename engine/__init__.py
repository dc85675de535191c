"""The DuplexCadence engine: plan, arena, replay, session and meter. It knows neither Qt nor a sound card."""
