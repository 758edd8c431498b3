//! Who touched what: the race detectors.
//!
//! Shared memory: two threads conflict on an element when one of them writes and neither a threadgroup barrier nor,
//! within one SIMD group, a SIMD barrier lies between. Lanes are not assumed to run in step. What a SIMD group does
//! as a whole (fragments) conflicts with everything in the same SIMD group too, because nobody knows which lane
//! did it.
//!
//! Device memory: no barrier orders it within a dispatch, so two threads may not touch an element at all when one
//! of them writes.

/// Stands for all lanes of the SIMD group.
pub(super) const WHOLE: u32 = 32;

/// Who is about to touch shared memory.
#[derive(Clone, Copy)]
pub(super) struct Who {
    pub(super) simd: u32,
    /// A lane, or [`WHOLE`].
    pub(super) lane: u32,
    /// Threadgroup barriers passed, counted over the run.
    pub(super) epoch: u32,
    /// SIMD barriers passed, counted over the run.
    pub(super) simd_epoch: u32,
}

/// The last touch of one kind.
#[derive(Clone, Copy, Default)]
struct Touch {
    epoch: u32,
    simd_epoch: u32,
    simd: u32,
    lane: u32,
    /// Several SIMD groups, or several lanes, since the last barrier.
    many_simds: bool,
    many_lanes: bool,
}

/// History of one shared element since the last barriers.
#[derive(Clone, Copy, Default)]
pub(super) struct Element {
    write: Touch,
    read: Touch,
}

impl Touch {
    fn conflicts(&self, who: Who) -> bool {
        if self.epoch != who.epoch {
            return false;
        }
        if self.many_simds || self.simd != who.simd {
            return true;
        }
        let same_lane = !self.many_lanes && self.lane == who.lane && who.lane != WHOLE;
        !same_lane && self.simd_epoch == who.simd_epoch
    }

    fn record(&mut self, who: Who) {
        if self.epoch != who.epoch {
            let Who { simd, lane, epoch, simd_epoch } = who;
            *self = Self { epoch, simd_epoch, simd, lane, many_simds: false, many_lanes: false };
            return;
        }
        if self.simd != who.simd {
            self.many_simds = true;
        } else if self.simd_epoch != who.simd_epoch {
            (self.simd_epoch, self.lane, self.many_lanes) = (who.simd_epoch, who.lane, false);
        } else if self.lane != who.lane {
            self.many_lanes = true;
        }
    }

    fn name(&self) -> String {
        match (self.many_simds, self.many_lanes || self.lane == WHOLE) {
            (true, _) => "several SIMD groups".to_owned(),
            (false, true) => format!("SIMD group {}", self.simd),
            (false, false) => format!("thread {}", self.simd * 32 + self.lane),
        }
    }
}

impl Element {
    /// Notes a read; the other party if it races.
    pub(super) fn read(&mut self, who: Who) -> Option<String> {
        let race = self.write.conflicts(who).then(|| self.write.name());
        self.read.record(who);
        race
    }

    /// Notes a write; the other party if it races.
    pub(super) fn write(&mut self, who: Who) -> Option<String> {
        let race = [&self.write, &self.read].into_iter().find(|t| t.conflicts(who)).map(Touch::name);
        self.write.record(who);
        race
    }
}

/// History of one buffer of a dispatch: for each element the thread that wrote it and the one that read it.
#[derive(Default)]
pub(super) struct Device {
    writer: Vec<u32>,
    reader: Vec<u32>,
}

/// More than one thread read the element.
const MANY: u32 = u32::MAX;

impl Device {
    pub(super) fn new(elements: usize, reads: bool) -> Self {
        Self { writer: vec![0; elements], reader: if reads { vec![0; elements] } else { Vec::new() } }
    }

    /// Whether anybody may write this buffer.
    pub(super) fn is_watched(&self) -> bool {
        !self.writer.is_empty()
    }

    /// Notes a read by `thread`, numbered from one over the launch; whether it races.
    pub(super) fn read(&mut self, element: usize, thread: u32) -> bool {
        if let Some(reader) = self.reader.get_mut(element) {
            *reader = if *reader == 0 || *reader == thread { thread } else { MANY };
        }
        self.writer.get(element).is_some_and(|&w| w != 0 && w != thread)
    }

    /// Notes a write by `thread`; whether it races.
    pub(super) fn write(&mut self, element: usize, thread: u32) -> bool {
        let mut race = self.reader.get(element).is_some_and(|&r| r != 0 && r != thread);
        if let Some(writer) = self.writer.get_mut(element) {
            race |= *writer != 0 && *writer != thread;
            *writer = thread;
        }
        race
    }
}
