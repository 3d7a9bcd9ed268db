//! In-memory symbol tables and labelset stores that seal into blocks
