//! Placeholder until the pool lands.
