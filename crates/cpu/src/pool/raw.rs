//! What lets threads borrow from the caller's stack: the team of workers, and disjoint parts of a slice.

use std::any::Any;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::SPIN;

/// The workers of a pool.
pub(super) struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// What caller and workers see.
///
/// `state` is one word so that joining a region and closing it exclude each other: the number of the region in the
/// high half, [`OPEN`] while workers may join, and in the low bits how many are inside.
struct Shared {
    state: AtomicU64,
    /// The task not handed out yet.
    next: AtomicUsize,
    /// Written while no worker is inside and the region is closed, read between joining and leaving.
    region: UnsafeCell<Region>,
    /// Whether some thread has a region open.
    busy: AtomicBool,
    /// The first panic of a worker in the region.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Workers asleep; changed under `bed`.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
}

/// A closure with its lifetime forgotten, and how many tasks it has.
#[derive(Clone, Copy)]
struct Region {
    task: *const (dyn Fn(usize) + Sync),
    tasks: usize,
}

// SAFETY: the closure is `Sync`; `state` orders writing the region before every read of it.
unsafe impl Sync for Shared {}
// SAFETY: as above; nothing in it belongs to one thread.
unsafe impl Send for Shared {}

const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const REGION: u64 = 1 << 32;

/// Locks, also after a panic elsewhere: what these mutexes guard cannot be left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Team {
    /// Starts up to `workers` threads.
    pub(super) fn new(workers: usize) -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            region: UnsafeCell::new(Region { task: &|_| (), tasks: 0 }),
            busy: AtomicBool::new(false),
            panic: Mutex::new(None),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let workers = (0..workers).map_while(|_| {
            let shared = shared.clone();
            thread::Builder::new().name("tilewright".into()).spawn(move || shared.work()).ok()
        });
        Self { workers: workers.collect(), shared }
    }

    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Workers asleep at the moment.
    #[cfg(test)]
    pub(super) fn asleep(&self) -> usize {
        self.shared.asleep.load(Ordering::SeqCst)
    }

    /// Calls `task` with every number below `tasks` on all threads.
    pub(super) fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        let shared = &*self.shared;
        if shared.busy.swap(true, Ordering::Acquire) {
            return (0..tasks).for_each(task);
        }
        // SAFETY: only the lifetime changes. `close` returns after the last worker has left and no other can join,
        // so the closure is not used once this function has returned.
        let task: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(task) };
        // SAFETY: the region is closed and empty and `busy` keeps other callers out: nobody reads it.
        unsafe { *shared.region.get() = Region { task, tasks } };
        shared.next.store(0, Ordering::Relaxed);
        let number = shared.state.load(Ordering::Relaxed) & !(REGION - 1);
        shared.state.store(number.wrapping_add(REGION) | OPEN, Ordering::SeqCst);
        if shared.asleep.load(Ordering::SeqCst) > 0 {
            drop(lock(&shared.bed));
            shared.wake.notify_all();
        }
        // A panic of the caller's own task must wait for the workers too, since they use its stack.
        let own = catch_unwind(AssertUnwindSafe(|| shared.take_tasks()));
        shared.close();
        let theirs = lock(&shared.panic).take();
        shared.busy.store(false, Ordering::Release);
        if let Some(payload) = own.err().or(theirs) {
            resume_unwind(payload);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.bed));
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker hands its panics to the caller of the region; there is none left to hand on.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Runs tasks until none is left. Only while inside an open region, or as its owner.
    fn take_tasks(&self) {
        // SAFETY: the caller is inside the region, so it is not being written.
        let Region { task, tasks } = unsafe { *self.region.get() };
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= tasks {
                return;
            }
            // SAFETY: the closure lives until the region is closed and empty.
            unsafe { (*task)(index) };
        }
    }

    /// Lets no further worker in, and waits for those inside.
    fn close(&self) {
        self.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut wait = Wait::default();
        while self.state.load(Ordering::Acquire) & INSIDE != 0 {
            wait.pause();
        }
    }

    /// A worker's life.
    fn work(&self) {
        let mut seen = 0;
        let mut wait = Wait::default();
        while !self.stop.load(Ordering::Relaxed) {
            let state = self.state.load(Ordering::Acquire);
            if state & OPEN == 0 || state / REGION == seen {
                if wait.pause() {
                    self.sleep(state);
                    wait = Wait::default();
                }
                continue;
            }
            let join = self.state.compare_exchange(state, state + 1, Ordering::Acquire, Ordering::Relaxed);
            if join.is_err() {
                continue;
            }
            seen = state / REGION;
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.take_tasks())) {
                lock(&self.panic).get_or_insert(payload);
            }
            self.state.fetch_sub(1, Ordering::Release);
            wait = Wait::default();
        }
    }

    /// Sleeps until a region after the one of `state` opens.
    fn sleep(&self, state: u64) {
        let mut bed = lock(&self.bed);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        // Whoever opens a region looks at `asleep` afterwards: either it sees this worker, or the worker sees it.
        while self.state.load(Ordering::SeqCst) / REGION == state / REGION
            && !self.stop.load(Ordering::SeqCst)
        {
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waiting that begins eager and ends polite: pauses, then offers of the core to others.
#[derive(Default)]
struct Wait {
    rounds: u32,
    since: Option<Instant>,
}

impl Wait {
    /// Waits a little; whether it has been [`SPIN`] in all.
    fn pause(&mut self) -> bool {
        self.rounds += 1;
        if self.rounds < 1000 {
            std::hint::spin_loop();
            return false;
        }
        thread::yield_now();
        self.since.get_or_insert_with(Instant::now).elapsed() > SPIN
    }
}

/// A slice cut into chunks that several threads may take, each chunk one thread at a time.
pub(super) struct Parts<'a, T> {
    start: *mut T,
    len: usize,
    size: usize,
    taken: Vec<AtomicBool>,
    items: PhantomData<&'a mut [T]>,
}

// SAFETY: a chunk is lent to one thread at a time (`with`), and its items may be sent to another thread.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    /// Chunks of `size`; the last may be shorter.
    pub(super) fn new(items: &'a mut [T], size: usize) -> Self {
        let taken = (0..items.len().div_ceil(size)).map(|_| AtomicBool::new(false)).collect();
        Self { start: items.as_mut_ptr(), len: items.len(), size, taken, items: PhantomData }
    }

    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Lends chunk `index` to `f`, once; a second time nothing happens.
    pub(super) fn with(&self, index: usize, f: impl FnOnce(&mut [T])) {
        if self.taken[index].swap(true, Ordering::Relaxed) {
            return;
        }
        let from = index * self.size;
        // SAFETY: `from` is below `len`, since `taken` has an entry for it. Chunks do not overlap, and this one has
        // not been lent before, so the reference is the only one.
        f(unsafe { std::slice::from_raw_parts_mut(self.start.add(from), self.size.min(self.len - from)) });
    }
}
