//! Tests of the whole program: real git, real Python. One binary, because each one links anew.

mod harness;

mod changesets;
mod configs;
mod differential;
mod docs;
mod doctor;
mod explain;
mod frameworks;
mod gate;
mod git_deletions;
mod git_precision;
mod git_situations;
mod git_slow;
mod histories;
mod hook;
mod install;
mod interpreters;
mod losses;
mod main_job;
mod moved;
mod numba;
mod packaging;
mod places;
mod prove;
mod pytest_outcome;
mod pytest_plugin;
mod reach;
mod regression;
mod report;
mod runaway;
mod selfcheck;
mod snapshots;
mod staleness;
mod survivors;
mod wait;
