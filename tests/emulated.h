// CUDA on a processor, for tests: threads of a block are fibers that run one at a time until they wait for one another;
// copies to shared memory arrive when a thread waits for them, not before. A block in which all wait is a deadlock.
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __launch_bounds__(...)
#define __forceinline__ inline

struct Index { unsigned x = 1, y = 1, z = 1; };
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
static Index threadIdx, blockIdx, blockDim, gridDim;
static unsigned char* emulated_shared;

struct Copy { void* to; const void* from; int size; };
struct Barrier { int arrived = 0; long generation = 0; };
struct Fiber {
    ucontext_t context;
    bool done = false;
    Barrier* waits = nullptr;
    long generation = 0;
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
};
static std::vector<Fiber> fibers;
static std::map<int, Barrier> barriers;
static ucontext_t scheduler;
static unsigned long long words[32][32];  // of each warp, what its threads tell one another

static Fiber& mine() { return fibers[threadIdx.x]; }
static void meet(int which, int count) {
    Barrier& barrier = barriers[which];
    if (++barrier.arrived == count) {
        barrier.arrived = 0, ++barrier.generation;
        return;
    }
    const unsigned thread = threadIdx.x;
    mine().waits = &barrier, mine().generation = barrier.generation;
    swapcontext(&mine().context, &scheduler);
    threadIdx.x = thread;
}
static void __syncthreads() { meet(0, blockDim.x); }
static void __syncwarp() { meet(1000 + threadIdx.x / 32, 32); }
template <class V> V __shfl_sync(unsigned, V value, int from) {
    unsigned long long* told = words[threadIdx.x / 32];
    std::memcpy(&told[threadIdx.x % 32], &value, sizeof value);
    __syncwarp();
    std::memcpy(&value, &told[from % 32], sizeof value);
    __syncwarp();
    return value;
}
static bool __any_sync(unsigned, bool own) {
    unsigned long long* told = words[threadIdx.x / 32];
    told[threadIdx.x % 32] = own;
    __syncwarp();
    bool some = false;
    for (int i = 0; i < 32; ++i) some |= told[i] != 0;
    __syncwarp();
    return some;
}

template <int bytes> void copy_async(void* to, const void* from) {
    if (reinterpret_cast<std::size_t>(to) % bytes || reinterpret_cast<std::size_t>(from) % bytes) std::abort();
    mine().open.push_back({to, from, bytes});
}
static void commit_copies() { mine().groups.push_back(std::exchange(mine().open, {})); }
template <int left> void wait_for_all_but() {
    auto& groups = mine().groups;
    for (; groups.size() > left; groups.erase(groups.begin()))
        for (const Copy& copy : groups[0]) std::memcpy(copy.to, copy.from, copy.size);
}
static void wait_for_copies() { commit_copies(), wait_for_all_but<0>(); }

template <class A, class B> auto min(A a, B b) { using C = std::common_type_t<A, B>; return C(a) < C(b) ? C(a) : C(b); }
template <class A, class B> auto max(A a, B b) { using C = std::common_type_t<A, B>; return C(a) > C(b) ? C(a) : C(b); }
template <class To, class From> To bits(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
static int __float_as_int(float x) { return bits<int>(x); }
static float __int_as_float(int x) { return bits<float>(x); }
static unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static float __uint_as_float(unsigned x) { return bits<float>(x); }
static int __vimin3_s32(int a, int b, int c) { return min(a, min(b, c)); }
static int __vimax3_s32(int a, int b, int c) { return max(a, max(b, c)); }
static unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { return min(a, min(b, c)); }
static unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return max(a, max(b, c)); }
static unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { return min(a + b, c); }
static int __viaddmax_s32(int a, int b, int c) { return max(a + b, c); }
template <class V> void __stcs(V* to, V value) { *to = value; }

// Blocks one after the other; `backwards`, whether the last thread of each runs first.
static void (*kernel)(void**);
static void** arguments;
static void fiber() {
    kernel(arguments);
    mine().done = true;
    swapcontext(&mine().context, &scheduler);
}
static void grid(unsigned x, unsigned y, unsigned threads, unsigned shared, int backwards) {
    constexpr int stack = 1 << 16;
    gridDim = {x, y}, blockDim = {threads};
    std::vector<char> stacks(std::size_t(threads) * stack);
    // Shared memory ends where a page does, and nobody may touch the next one.
    const std::size_t page = sysconf(_SC_PAGESIZE), room = (shared + page - 1) / page * page;
    char* held = static_cast<char*>(mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(held + room, page, PROT_NONE);
    emulated_shared = reinterpret_cast<unsigned char*>(held + (room - shared) / 16 * 16);
    for (unsigned block = 0; block < x * y; ++block) {
        blockIdx = {block % x, block / x};
        barriers.clear();
        fibers.assign(threads, Fiber{});
        std::memset(emulated_shared, 0x7b, shared);  // what nobody wrote is no number
        for (unsigned t = 0; t < threads; ++t) {
            getcontext(&fibers[t].context);
            fibers[t].context.uc_stack.ss_sp = &stacks[std::size_t(t) * stack];
            fibers[t].context.uc_stack.ss_size = stack;
            makecontext(&fibers[t].context, fiber, 0);
        }
        for (unsigned left = threads; left;) {
            bool some = false;
            for (unsigned k = 0; k < threads; ++k) {
                const unsigned t = backwards ? threads - 1 - k : k;
                Fiber& f = fibers[t];
                if (f.done || (f.waits && f.waits->generation == f.generation)) continue;
                f.waits = nullptr, threadIdx = {t}, some = true;
                swapcontext(&scheduler, &f.context);
                left -= f.done;
            }
            if (!some) std::fprintf(stderr, "all threads of block %u wait\n", block), std::abort();
        }
    }
    munmap(held, room + page);
}
template <class... P, std::size_t... i> void call(void (*function)(P...), void** given, std::index_sequence<i...>) {
    function(*static_cast<P*>(given[i])...);
}
template <class... P> void call(void (*function)(P...), void** given) { call(function, given, std::index_sequence_for<P...>{}); }
#define LAUNCH(name)                                                                                                            \
    extern "C" void launch_##name(unsigned x, unsigned y, unsigned threads, unsigned shared, void** given, int backwards) { \
        kernel = [](void** a) { call(name, a); };                                                                               \
        arguments = given;                                                                                                      \
        grid(x, y, threads, shared, backwards);                                                                                 \
    }
