fn main() {}

mod doctor;
mod frameworks;
mod git_deletions;
mod git_precision;
mod git_situations;
mod git_slow;
mod hook;
mod install;
mod lab;
