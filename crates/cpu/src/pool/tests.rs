//! Tasks run once each, through panics, nesting and sleep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Pool;

#[test]
fn every_task_runs_once() {
    for threads in [0, 1, 2, 3, 7] {
        let pool = Pool::new(threads);
        for tasks in [0, 1, 2, 5, 100] {
            for _ in 0..20 {
                let counts: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                pool.run(tasks, |task| {
                    counts[task].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    counts.iter().all(|c| c.load(Ordering::Relaxed) == 1),
                    "{threads} threads, {tasks} tasks"
                );
            }
        }
    }
}

#[test]
fn chunks_cover_the_slice() {
    let pool = Pool::new(3);
    for len in [0, 1, 9, 10, 11, 1000] {
        let mut items = vec![0; len];
        pool.for_each_chunk(&mut items, 10, |index, chunk| {
            assert!(chunk.len() == 10 || index == len / 10 && chunk.len() == len % 10);
            for (i, item) in chunk.iter_mut().enumerate() {
                *item += 10 * index + i;
            }
        });
        assert!(items.into_iter().eq(0..len));
    }
    let mut items = vec![1, 2, 3];
    pool.for_each(&mut items, |item| *item *= 2);
    assert_eq!(items, [2, 4, 6]);
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let pool = Pool::new(3);
    for culprit in 0..8 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.run(8, |task| assert_ne!(task, culprit, "as planned"));
        }));
        assert!(outcome.is_err());
        let done = AtomicUsize::new(0);
        pool.run(8, |_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 8);
    }
}

#[test]
fn calls_from_tasks_and_from_several_threads_complete() {
    let pool = Pool::new(3);
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for caller in 0..3 {
            let (pool, seen) = (&pool, &seen);
            scope.spawn(move || {
                pool.run(4, |outer| {
                    pool.run(5, |inner| seen.lock().unwrap().push((caller, outer, inner)));
                });
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 3 * 4 * 5);
}

#[test]
fn sleepers_wake() {
    let pool = Pool::new(3);
    // Until every worker has slept at least once, however long the system takes to run them.
    while pool.team.asleep() < 2 {
        std::thread::yield_now();
    }
    let done = AtomicUsize::new(0);
    pool.run(100, |_| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(done.into_inner(), 100);
}
