//! Series of a block as Arrow record batches.
