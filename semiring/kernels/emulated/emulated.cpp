// What every translation unit of emulated kernels shares: the fibers, and what they wait for. Compiled once.
#include "emulated.h"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

extern char __attribute__((weak)) __start_shared_variables[], __stop_shared_variables[];
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
// What who counts is told: a barrier is passed; all threads of a block wait or have run; stacks lie there.
// Whether a block in which all wait can go on.
void __attribute__((weak)) passed(long) {}
void __attribute__((weak)) paused(Block&) {}
bool __attribute__((weak)) stuck(Block&) { return false; }
void __attribute__((weak)) on_stacks(char*, std::size_t) {}
// A lane is read that tells nothing.
void __attribute__((weak)) silent(unsigned) {}
void next(Barrier& barrier) {
    static long turns = 0;
    barrier.arrived = 0, barrier.generation = ++turns;
}
void open(Barrier& barrier, long which) {
    next(barrier);
    passed(which);
}
long meet(long which, int count) {
    Barrier& barrier = block->barriers[which];
    if (++barrier.arrived == count) return open(barrier, which), barrier.generation;
    mine().waits = &barrier, mine().generation = barrier.generation;
    leave();
    return barrier.generation;
}
void copy(void* to, const void* from, int size, int bytes) {
    if (reinterpret_cast<std::size_t>(to) % size || reinterpret_cast<std::size_t>(from) % size) std::abort();
    mine().open.push_back({to, from, size, bytes});
}
void commit() { mine().groups.push_back(std::exchange(mine().open, {})); }
void wait(std::size_t left) {
    auto& groups = mine().groups;
    for (; groups.size() > left; groups.erase(groups.begin()))
        for (const Copy& c : groups[0]) std::memset(c.to, 0, c.size), std::memcpy(c.to, c.from, c.bytes);
}
// Four 8 × 128-bit matrices, a row of 16 bytes at each thread's address.
void load_matrices(unsigned& x0, unsigned& x1, unsigned& x2, unsigned& x3, unsigned from) {
    const unsigned long long* at = tell(from).words;
    const unsigned lane = self % 32;
    unsigned* to[] = {&x0, &x1, &x2, &x3};
    for (int i = 0; i < 4; ++i) std::memcpy(to[i], shared + unsigned(at[8 * i + lane / 4]) + 4 * (lane % 4), 4);
}
// c ← c + popcount(a ∧ b), 16 × 8 of them over 256 bits.
void multiply_bits(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    auto& all = block->fragments[self / 32];
    const unsigned lane = self % 32, own[] = {a0, a1, a2, a3, b0, b1};
    meet_lanes(~0u);
    std::memcpy(all[lane], own, sizeof own);
    meet_lanes(~0u);
    int* to[] = {&c0, &c1, &c2, &c3};
    for (int e = 0; e < 4; ++e)
        for (unsigned q = 0; q < 4; ++q) {
            const unsigned *a = all[lane / 4 * 4 + q], *b = all[(lane % 4 * 2 + e % 2) * 4 + q];
            *to[e] += __builtin_popcount(a[e / 2] & b[4]) + __builtin_popcount(a[2 + e / 2] & b[5]);
        }
}
}  // namespace emulated

int __syncthreads_or(int own) {
    static std::map<emulated::Block*, int> any;  // by turns: set to 0 by the first that comes
    __syncthreads();
    any[emulated::block] = 0;
    __syncthreads();
    any[emulated::block] |= own != 0;
    __syncthreads();
    return any[emulated::block];
}
int __syncthreads_count(int own) {
    static std::map<emulated::Block*, int> count;
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
void (*kernel)(void**);
void** arguments;
static void fiber() {
    for (;; leave()) {
        kernel(arguments);
        mine().done = true;
    }
}
static char* pages(std::size_t size) {
    return static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

// Shared memory ends where a page does, and nobody may touch the next one.
struct Room {
    std::size_t size, page = sysconf(_SC_PAGESIZE), whole;
    char* held;
    explicit Room(std::size_t size) : size(size), whole((size + page - 1) / page * page), held(pages(whole + page)) {
        mprotect(held + whole, page, PROT_NONE);
    }
    ~Room() { munmap(held, whole + page); }
    unsigned char* begin() const { return reinterpret_cast<unsigned char*>(held + (whole - size) / 16 * 16); }
};

static void enter(Block& next) {
    if (block == &next) return;
    const std::size_t size = __stop_shared_variables - __start_shared_variables;
    if (block && size) std::memcpy(block->variables.data(), __start_shared_variables, size);
    block = &next, shared = next.shared, blockIdx = next.index;
    if (size) std::memcpy(__start_shared_variables, next.variables.data(), size);
}

#ifndef STACK
#define STACK (1 << 16)
#endif
// The threads of so many blocks, each on a stack of its own; where these exist already, as they were left.
static Stack* stacks(std::size_t count) {
    static char* memory = nullptr;
    static std::vector<Stack> all;
    if (all.size() < count) {
        if (memory) munmap(memory, all.size() * STACK);
        memory = pages(count * STACK);
        all.assign(count, {});
        for (std::size_t i = 0; i < count; ++i) {
            ucontext_t& context = all[i].context;
            getcontext(&context);
            context.uc_stack.ss_sp = memory + i * STACK, context.uc_stack.ss_size = STACK;
            makecontext(&context, fiber, 0);
        }
        on_stacks(memory, count * STACK);
    }
    return all.data();
}

// So many blocks by turns, from one on; `backwards`, whether the last thread of each runs first.
void run(unsigned first, unsigned count, unsigned threads, unsigned size, bool backwards) {
    Stack* stack = stacks(std::size_t(count) * threads);
    std::vector<Block> blocks(count);
    static std::vector<std::unique_ptr<Room>> rooms;  // kept for the next blocks, as each new page is a fault
    if (rooms.size() != count || rooms.empty() || rooms[0]->size != size) rooms.clear();
    for (unsigned b = 0; b < count; ++b) {
        Block& one = blocks[b];
        const unsigned index = first + b;
        one.index = {index % gridDim.x, index / gridDim.x % gridDim.y, index / gridDim.x / gridDim.y};
        if (rooms.size() == b) rooms.push_back(std::make_unique<Room>(size));
        one.shared = rooms[b]->begin();
        std::memset(one.shared, 0x7b, size);  // what nobody wrote is no number
        one.variables.assign(__stop_shared_variables - __start_shared_variables, 0x7b);
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
                enter(one), self = t;
                threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
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
void grid(dim3 sizes, dim3 threads, unsigned size, int backwards, int together, unsigned from) {
    gridDim = sizes, blockDim = threads;
    const unsigned all = sizes.x * sizes.y * sizes.z, each = threads.x * threads.y * threads.z;
    if (together) run(0, all, each, size, backwards);
    else
        for (unsigned b = from; b < all; ++b) run(b, 1, each, size, backwards);
}
}  // namespace emulated
