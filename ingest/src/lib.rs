//! Turns OTLP and Prometheus captures into blocks
