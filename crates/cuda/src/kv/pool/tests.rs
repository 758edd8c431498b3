//! The pages of sequences, on memory that is not a GPU's.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::*;

/// What there is: pages by number with a number for each position, and how many more may be taken.
#[derive(Default)]
struct World {
    pages: RefCell<BTreeMap<usize, Vec<i32>>>,
    next: Cell<usize>,
    left: Cell<usize>,
    ranges: Cell<usize>,
    /// Maps that succeed before one fails.
    maps: Cell<usize>,
}

struct FakePage(usize, Rc<World>);

impl Drop for FakePage {
    fn drop(&mut self) {
        self.1.pages.borrow_mut().remove(&self.0);
        self.1.left.set(self.1.left.get() + 1);
    }
}

struct FakeRange(Vec<Option<usize>>, Rc<World>);

impl Drop for FakeRange {
    fn drop(&mut self) {
        self.1.ranges.set(self.1.ranges.get() - 1);
    }
}

struct Fake(Rc<World>);

impl Mapping for Fake {
    type Page = FakePage;
    type Range = FakeRange;

    fn bytes(&self) -> usize {
        SPARE / 2
    }

    fn page(&self) -> Result<FakePage, Refusal> {
        let world = &self.0;
        if world.left.get() == 0 {
            return Err(Refusal::new(Code::OutOfMemory, "a page", "one more", "none"));
        }
        world.left.set(world.left.get() - 1);
        world.next.set(world.next.get() + 1);
        // Whatever was there before.
        world.pages.borrow_mut().insert(world.next.get(), vec![-7; PAGE]);
        Ok(FakePage(world.next.get(), Rc::clone(world)))
    }

    fn range(&self, pages: usize) -> Result<FakeRange, Refusal> {
        self.0.ranges.set(self.0.ranges.get() + 1);
        Ok(FakeRange(vec![None; pages], Rc::clone(&self.0)))
    }

    fn map(&self, range: &mut FakeRange, at: usize, page: &FakePage) -> Result<(), Refusal> {
        let left = self.0.maps.get();
        self.0.maps.set(left.wrapping_sub(1));
        if left == 0 {
            return Err(Refusal::new(Code::DeviceFailed, "a map", "one", "none"));
        }
        assert_eq!(range.0[at].replace(page.0), None, "mapped twice");
        Ok(())
    }

    fn unmap(&self, range: &mut FakeRange, at: usize) {
        assert!(range.0[at].take().is_some(), "not mapped");
    }

    fn clear(&self, page: &FakePage) -> Result<(), Refusal> {
        self.0.pages.borrow_mut().insert(page.0, vec![0; PAGE]);
        Ok(())
    }

    fn copy(&self, page: &FakePage, from: &FakePage) -> Result<(), Refusal> {
        let content = self.0.pages.borrow()[&from.0].clone();
        self.0.pages.borrow_mut().insert(page.0, content);
        Ok(())
    }

    fn wait(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// A pool over a world of so many pages.
fn pool(pages: usize) -> (Pool<Fake>, Rc<World>) {
    let world = Rc::new(World { left: Cell::new(pages), maps: Cell::new(usize::MAX), ..World::default() });
    (Pool::new(Fake(Rc::clone(&world)), usize::MAX), world)
}

/// Writes `value` to some positions, which are made ready.
fn write(pool: &mut Pool<Fake>, mapped: &mut Mapped<Fake>, positions: Range<usize>, value: i32) {
    pool.reach(vec![(mapped, positions.clone())]).unwrap();
    put(mapped, positions, value);
}

fn put(mapped: &Mapped<Fake>, positions: Range<usize>, value: i32) {
    let FakeRange(addresses, world) = &mapped.range;
    for position in positions {
        let page = addresses[position / PAGE].unwrap();
        world.pages.borrow_mut().get_mut(&page).unwrap()[position % PAGE] = value;
    }
}

fn read(mapped: &Mapped<Fake>, position: usize) -> i32 {
    let FakeRange(addresses, world) = &mapped.range;
    world.pages.borrow()[&addresses[position / PAGE].unwrap()][position % PAGE]
}

#[test]
fn memory_follows_the_length_and_fresh_pages_are_zero() {
    let (mut pool, world) = pool(9);
    let mut one = pool.create(8 * PAGE).unwrap();
    assert_eq!((pool.used(), world.left.get()), (0, 9));
    for (positions, used) in
        [(0..0, 0), (0..1, 1), (1..PAGE, 1), (PAGE..PAGE + 1, 2), (PAGE + 1..5 * PAGE, 5)]
    {
        write(&mut pool, &mut one, positions.clone(), 3);
        assert_eq!(pool.used(), used, "{positions:?}");
    }
    write(&mut pool, &mut one, 5 * PAGE..5 * PAGE + 1, 3);
    assert_eq!((read(&one, 0), read(&one, 5 * PAGE), read(&one, 5 * PAGE + 1)), (3, 3, 0));
    pool.truncate(&mut one, 2 * PAGE + 1).unwrap();
    assert_eq!(pool.used(), 3);
    // A page that was used before is zero again.
    write(&mut pool, &mut one, 2 * PAGE + 1..3 * PAGE + 1, 4);
    assert_eq!((read(&one, 2 * PAGE), read(&one, 3 * PAGE), read(&one, 3 * PAGE + 1)), (3, 4, 0));
    pool.release(one);
    assert_eq!((pool.used(), world.ranges.get()), (0, 0));
    assert_eq!(world.left.get() + 2, 9, "two are kept for the next sequence");
    drop(pool);
    assert_eq!(world.left.get(), 9);
}

#[test]
fn sequences_that_begin_alike_share_pages_and_never_see_each_other_write() {
    let (mut pool, _) = pool(9);
    let mut first = pool.create(4 * PAGE).unwrap();
    write(&mut pool, &mut first, 0..2 * PAGE, 1);
    let mut second = pool.fork(&first, PAGE + 5, 3 * PAGE).unwrap();
    assert_eq!(pool.used(), 3, "the whole page is shared, the other copied");
    write(&mut pool, &mut second, PAGE + 5..PAGE + 6, 2);
    assert_eq!(pool.used(), 3);
    assert_eq!((read(&first, PAGE + 5), read(&second, PAGE + 5), read(&second, PAGE + 4)), (1, 2, 1));
    let third = pool.fork(&second, PAGE, PAGE).unwrap();
    assert_eq!(pool.used(), 3, "nothing to copy at the end of a page");
    pool.truncate(&mut first, 3).unwrap();
    write(&mut pool, &mut first, 3..4, 9);
    assert_eq!(pool.used(), 3, "the first page was copied, the other given back");
    assert_eq!((read(&first, 2), read(&first, 3)), (1, 9));
    assert_eq!((read(&second, 3), read(&third, 3)), (1, 1));
    pool.release(second);
    assert_eq!(pool.used(), 2, "a page that another has stays");
    pool.release(third);
    pool.release(first);
    assert_eq!(pool.used(), 0);
}

#[test]
fn a_step_that_finds_too_little_memory_changes_nothing() {
    let (mut pool, world) = pool(3);
    let (mut one, mut two) = (pool.create(4 * PAGE).unwrap(), pool.create(4 * PAGE).unwrap());
    write(&mut pool, &mut one, 0..PAGE, 1);
    write(&mut pool, &mut two, 0..PAGE, 2);
    let both = |pool: &mut Pool<Fake>, one: &mut Mapped<Fake>, two: &mut Mapped<Fake>| {
        let next = PAGE..PAGE + 1;
        pool.reach(vec![(one, next.clone()), (two, next)]).map_err(|refusal| refusal.code())
    };
    assert_eq!(both(&mut pool, &mut one, &mut two), Err(Code::OutOfMemory));
    assert_eq!((pool.used(), one.pages.len(), two.pages.len()), (2, 1, 1));
    let fork = pool.fork(&one, 3, PAGE).unwrap();
    assert_eq!(pool.fork(&one, 3, PAGE).map(drop).unwrap_err().code(), Code::OutOfMemory);
    assert_eq!(pool.used(), 3);
    pool.release(fork);
    pool.release(two);
    let mut two = pool.create(4 * PAGE).unwrap();
    pool.most = 2;
    let refused = pool.reach(vec![(&mut two, 0..2 * PAGE)]).unwrap_err();
    assert_eq!((refused.code(), pool.used()), (Code::OutOfMemory, 1));
    pool.most = 3;
    // The last page of the three cannot be mapped: it is not lost.
    world.maps.set(1);
    let refused = pool.reach(vec![(&mut two, 0..2 * PAGE)]).unwrap_err();
    assert_eq!((refused.code(), pool.used()), (Code::DeviceFailed, 2));
    world.maps.set(usize::MAX);
    write(&mut pool, &mut two, 0..2 * PAGE, 5);
    assert_eq!((read(&two, 2 * PAGE - 1), read(&one, 0)), (5, 1));
}

#[test]
fn a_shared_page_that_cannot_be_replaced_stays_in_its_place() {
    let (mut pool, world) = pool(9);
    let mut one = pool.create(PAGE).unwrap();
    write(&mut pool, &mut one, 0..PAGE, 1);
    let two = pool.fork(&one, PAGE, PAGE).unwrap();
    pool.truncate(&mut one, 9).unwrap();
    world.maps.set(0);
    assert_eq!(pool.reach(vec![(&mut one, 9..10)]).unwrap_err().code(), Code::DeviceFailed);
    assert_eq!((read(&one, 8), pool.used()), (1, 1));
    world.maps.set(usize::MAX);
    write(&mut pool, &mut one, 9..10, 2);
    assert_eq!((read(&one, 9), read(&two, 9), pool.used()), (2, 1, 2));
}
