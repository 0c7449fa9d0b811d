//! Every Redis key name, in one table.
