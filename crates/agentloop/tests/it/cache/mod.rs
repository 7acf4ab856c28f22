//! The cache, over the simulator.

mod answers;
mod configured;
mod control;
mod flight;
mod keeping;
mod memory;
mod redis;
mod stores;
mod support;
