//! The assignment codec: header, blocks, chunks, manifest.
