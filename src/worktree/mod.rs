//! What git says: root, references, index, change sets, payload. Knows no bytecode.
