#!/bin/sh
# Writes captures/exposition anew. Needs Go; versions are in go.mod. Times of creation in the protobuf differ from run to run.
set -eu
cd "$(dirname "$0")"
go run -buildvcs=false . ../../exposition
