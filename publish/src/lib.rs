//! Publishes a file whole or not at all
