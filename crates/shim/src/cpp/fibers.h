// Threads of a threadgroup as fibers of one processor thread.
//
// Fibers run in order, each up to its next meeting: an operation of its SIMD group, a barrier of the threadgroup, or
// its end. Whoever arrives looks at the fiber before it, which must have come to the same place; the last to arrive
// hands on to the first. So a meeting that some threads miss is noticed, and a switch is a comparison and a jump.
//
// The text decides nothing about the order of threads between meetings; `backwards` runs the other extreme.
#pragma once

#if !defined(__x86_64__) || !defined(__linux__)
#error "fibers switch stacks of x86-64 under Linux"
#endif

namespace shim {

typedef unsigned int u32;
typedef unsigned char u8;

constexpr int LANES = 32, MOST_THREADS = 1024;
constexpr u32 STACK = 64 * 1024;

// What the host asks for; the same as `Launch` in raw.rs.
struct Launch {
    void* const* arguments;
    u8* stacks;
    u32 groups[3];
    u32 threads;
    int backwards;
    u32 error_at[5];  // threadgroup, thread, line
    u32 error_other[2];
    const char* error;
};

enum Kind { SIMD = 1, GROUP = 2, END = 3 };

// Values that lanes show each other. There are two sets, used in turn: who is already at the next meeting does not
// disturb who still reads what was shown at this one.
struct Slot {
    alignas(32) u8 bytes[2][32];
};

struct Fiber {
    void* stack_pointer;
    u32 place;  // line and kind of the meeting it came to last
    u32 turn;
};

struct State {
    Launch* launch;
    void (*body)(Launch&);
    void* host;
    u32 group[3];
    int current, first, last, step;
    Fiber fiber[MOST_THREADS];
    Slot slot[MOST_THREADS];
    Slot result[MOST_THREADS / LANES];
};

static State state;

extern "C" void shim_switch(void** save, void* to);
asm(R"(
.text
.type shim_switch, @function
shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

static inline void go(int to) {
    void** from = &state.fiber[state.current].stack_pointer;
    state.current = to;
    shim_switch(from, state.fiber[to].stack_pointer);
    asm volatile("" : : "r"(&state) : "memory");
}

static inline void go_home() {
    void* nowhere;
    shim_switch(&nowhere, state.host);
}

// Ends the run; the other fibers are left where they are.
static void fail(const char* error, int line, int other, int other_line) {
    Launch& launch = *state.launch;
    for (int axis = 0; axis < 3; axis++) launch.error_at[axis] = state.group[axis];
    launch.error_at[3] = state.current;
    launch.error_at[4] = line;
    launch.error_other[0] = other;
    launch.error_other[1] = other_line;
    launch.error = error;
    go_home();
}

static inline int lane() { return state.current % LANES; }
static inline int simd_group() { return state.current / LANES; }

// First and last of those who meet.
static inline int first_of(Kind kind) {
    if (kind != SIMD) return state.first;
    return state.current - lane() + (state.step > 0 ? 0 : LANES - 1);
}
static inline int last_of(Kind kind) {
    if (kind != SIMD) return state.last;
    return state.current - lane() + (state.step > 0 ? LANES - 1 : 0);
}

static __attribute__((noinline)) void meet(Kind kind, int line) {
    const int me = state.current;
    const u32 place = (u32)line * 4 + kind;
    state.fiber[me].place = place;
    if (me != first_of(kind)) {
        const u32 other = state.fiber[me - state.step].place;
        if (other != place) fail("threads part", line, me - state.step, other / 4);
    }
    if (me != last_of(kind)) return go(me + state.step);
    if (kind == END) return go_home();
    go(first_of(kind));
}

static void fiber_main() {
    state.body(*state.launch);
    meet(END, 0);
}

static constexpr unsigned long MARK = 0x5ca1ab1e5ca1ab1e;

static void threadgroup(int threads) {
    for (int n = 0; n < threads; n++) {
        u8* stack = state.launch->stacks + (unsigned long)n * STACK;
        *(unsigned long*)stack = MARK;
        // Tops lie at different places of a cache way, or all fibers would contend for a few lines.
        void** top = (void**)(stack + STACK - n % 64 * 192 - 64);
        *--top = nullptr;
        *--top = (void*)fiber_main;
        for (int saved = 0; saved < 6; saved++) *--top = nullptr;
        state.fiber[n] = Fiber{top, 0, 0};
    }
    state.current = state.first;
    shim_switch(&state.host, state.fiber[state.first].stack_pointer);
    asm volatile("" : : "r"(&state) : "memory");
    for (int n = 0; n < threads && !state.launch->error; n++) {
        if (*(unsigned long*)(state.launch->stacks + (unsigned long)n * STACK) != MARK) {
            state.launch->error = "a thread needs more stack than there is";
        }
    }
}

// Shared memory holds nothing in particular when a threadgroup starts: every bit set is a NaN, or minus one.
static void run(Launch& launch, void (*body)(Launch&), u8* shared, u8* shared_end) {
    const int threads = launch.threads;
    if (threads < LANES || threads > MOST_THREADS || threads % LANES != 0) {
        launch.error = "the number of threads is not a multiple of 32 up to 1024";
        return;
    }
    state.launch = &launch;
    state.body = body;
    state.step = launch.backwards ? -1 : 1;
    state.first = launch.backwards ? threads - 1 : 0;
    state.last = launch.backwards ? 0 : threads - 1;
    const u32 count = launch.groups[0] * launch.groups[1] * launch.groups[2];
    for (u32 n = 0; n < count && !launch.error; n++) {
        const u32 at = launch.backwards ? count - 1 - n : n;
        state.group[0] = at % launch.groups[0];
        state.group[1] = at / launch.groups[0] % launch.groups[1];
        state.group[2] = at / launch.groups[0] / launch.groups[1];
        __builtin_memset(shared, 0xff, shared_end - shared);
        threadgroup(threads);
    }
}

}  // namespace shim
