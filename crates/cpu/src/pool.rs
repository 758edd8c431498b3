//! Threads that share a piece of work and are ready for the next at once.
//!
//! A decoder step is a chain of a hundred or more short parallel regions. Between them workers spin, so that a region
//! starts within a microsecond; after `SPIN` without work they sleep and cost nothing. Tasks are handed out one at
//! a time by a counter, so a thread that the system holds up delays no more than the task it is in. The calling
//! thread works too, and the call returns when every task is done. Which thread runs a task is not defined: results
//! must not depend on it.
//!
//! A panic in a task is handed to the caller once all threads have left the region. A call from inside a task, or
//! while another thread uses the pool, runs its tasks on the calling thread.

use std::time::Duration;

mod raw;

#[cfg(test)]
mod tests;

use raw::{Parts, Team};

/// How long a worker looks for new work before it sleeps: longer than what lies between two tokens.
const SPIN: Duration = Duration::from_millis(2);

/// A fixed number of threads.
pub struct Pool {
    team: Team,
}

impl Pool {
    /// `threads` in all, the caller's included; 0 counts as 1.
    pub fn new(threads: usize) -> Self {
        Self { team: Team::new(threads.max(1) - 1) }
    }

    /// Threads, the caller's included. Fewer than asked for where the system gave no more.
    pub fn threads(&self) -> usize {
        self.team.workers() + 1
    }

    /// Calls `task` once with every number below `tasks`, lowest numbers first.
    pub fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        if tasks <= 1 || self.team.workers() == 0 {
            (0..tasks).for_each(task);
        } else {
            self.team.run(tasks, &task);
        }
    }

    /// Calls `task` once with every item.
    pub fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(&mut T) + Sync) {
        self.for_each_chunk(items, 1, |_, item| item.iter_mut().for_each(&task));
    }

    /// Calls `task` once with every chunk of `size` items (the last may be shorter) and its index.
    ///
    /// # Panics
    /// When `size` is 0.
    pub fn for_each_chunk<T: Send>(
        &self,
        items: &mut [T],
        size: usize,
        task: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let parts = Parts::new(items, size);
        self.run(parts.len(), |index| parts.with(index, |part| task(index, part)));
    }
}
