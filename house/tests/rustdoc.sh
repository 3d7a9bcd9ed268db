#!/bin/sh
# rustdoc with its unstable options, for `api.rs`: cargo and rustc stay as they are, and so do the builds of others.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
