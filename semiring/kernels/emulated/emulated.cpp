// What every translation unit of emulated kernels shares: the fibers, and what they wait for. Compiled once.
#include "emulated.h"

#include <sys/mman.h>

#pragma GCC visibility push(hidden)
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated {
Block* block;
unsigned char* shared;
unsigned self;
static jmp_buf scheduler;

void leave() {
    if (!_setjmp(mine().stack->here)) _longjmp(scheduler, 1);
}
static __attribute__((noinline)) void go_on(Stack& stack) {
    if (_setjmp(scheduler)) return;
    if (std::exchange(stack.begun, true)) _longjmp(stack.here, 1);
    setcontext(&stack.context);
}
void next(Barrier& barrier) {
    static long turns = 0;
    barrier.arrived = 0, barrier.generation = ++turns;
}
long meet(long which, int count, std::size_t at) {
    Barrier& barrier = block->barriers[which];
    mine().at = at;
    if (++barrier.arrived == count) return next(barrier), passed(which), barrier.generation;
    mine().waits = &barrier, mine().generation = barrier.generation;
    leave();
    return barrier.generation;
}
void synchronize() { meet(0, block->fibers.size(), HERE); }
void synchronize_lanes(unsigned lanes) { meet_lanes(lanes, HERE); }
}  // namespace emulated

int __syncthreads_count(int own) {
    static std::map<emulated::Block*, int> count;  // by turns: set to 0 by the first that comes
    __syncthreads();
    count[emulated::block] = 0;
    __syncthreads();
    count[emulated::block] += own != 0;
    __syncthreads();
    return count[emulated::block];
}
unsigned __activemask() {
    const auto& all = emulated::block->fibers;
    unsigned found = 0;
    for (std::size_t i = 0, t = emulated::self / 32 * 32; i < 32 && t < all.size(); ++i, ++t) found |= unsigned(!all[t].done) << i;
    return found;
}

namespace emulated {
char* stacks;
std::size_t stacks_size;
void (*kernel)(const void*);
const void* arguments;
static void fiber() {
    for (;; leave()) {
        kernel(arguments);
        mine().done = true;
    }
}
char* pages(std::size_t size) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

// So many threads, each on a stack of STACK bytes of its own; where these exist already, as they were left.
static Stack* threads_on_stacks(std::size_t count) {
    static std::vector<Stack> all;
    if (all.size() < count) {
        if (stacks) munmap(stacks, stacks_size);
        stacks_size = count * STACK, stacks = pages(stacks_size);
        all.assign(count, {});
        for (std::size_t i = 0; i < count; ++i) {
            ucontext_t& context = all[i].context;
            getcontext(&context);
            context.uc_stack.ss_sp = stacks + i * STACK, context.uc_stack.ss_size = STACK;
            makecontext(&context, fiber, 0);
        }
    }
    return all.data();
}

// So many blocks by turns, from one on; `backwards`, whether the last thread of each runs first.
void run(unsigned first, unsigned count, unsigned threads, unsigned size, bool backwards) {
    Stack* stack = threads_on_stacks(std::size_t(count) * threads);
    std::vector<Block> blocks(count);
    for (unsigned b = 0; b < count; ++b) {
        Block& one = blocks[b];
        one.index = position(first + b, gridDim);
        one.shared = room(b, size);
        std::memset(one.shared, 0x7b, size);  // what nobody wrote is no number
        one.fibers.resize(threads);
        for (Fiber& f : one.fibers) f.stack = stack++;
    }
    block = nullptr;
    int looks = 0;  // in which all that were not waiting looked in vain
    for (unsigned left = count * threads; left;) {
        bool some = false, turned = false;
        for (Block& one : blocks) {
            for (unsigned k = 0; k < threads; ++k) {
                const unsigned t = backwards ? threads - 1 - k : k;
                Fiber& f = one.fibers[t];
                if (f.done || (f.waits && f.waits->generation == f.generation)) continue;
                f.waits = nullptr, f.turned = false;
                if (block != &one) enters(one), block = &one, shared = one.shared, blockIdx = one.index;
                self = t;
                threadIdx = position(t, blockDim);
                go_on(*f.stack);
                (f.turned ? turned : some) = true;
                left -= f.done;
            }
            paused(one);
        }
        looks = some ? 0 : looks + 1;
        if (!some && (!turned || looks > 1000) && !stuck(blocks[0])) {
            std::fprintf(stderr, "all threads of block %u wait\n", first), std::abort();
        }
    }
}
}  // namespace emulated
