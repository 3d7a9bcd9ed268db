//! Opens blocks from memory maps or memory and resolves labelsets in place
