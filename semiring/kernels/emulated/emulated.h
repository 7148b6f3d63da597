// CUDA on a processor: threads of a block are fibers that run one at a time until they wait for one another. Blocks run
// one after the other, those of a cooperative grid by turns. A block, or such a grid, in which all wait is a deadlock.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#ifndef __global__
#define __global__
#endif
#define __launch_bounds__(...)
#define __forceinline__ inline
#define OWN_VARIABLE __attribute__((section("own_variables")))  // constant for kernels
#define DEVICE_VARIABLE __attribute__((section("device_variables")))
#define MANAGED_VARIABLE __attribute__((section("managed_variables")))
#define __align__(bytes) __attribute__((aligned(bytes)))

// Of what an instrumented translation unit runs on behalf of the runtime, nothing is counted.
#define UNCOUNTED __attribute__((no_sanitize("thread")))
#define OUTSIDE __attribute__((noinline)) UNCOUNTED
#define HERE std::size_t(__builtin_return_address(0))
#define IN_PLACE __attribute__((always_inline)) inline  // so that who is called finds the kernel's instruction HERE

struct alignas(16) uint4 { unsigned x, y, z, w; };
struct uint3 { unsigned x, y, z; };
constexpr int warpSize = 32;
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Each library has its own of what is hidden.
#pragma GCC visibility push(hidden)
namespace emulated {
struct Barrier { int arrived = 0; long generation = 0; };
// A stack, and where its thread goes on: jumps cost no call of the system. The next thread begins where one is done.
struct Stack {
    ucontext_t context;
    jmp_buf here;
    bool begun = false;
};
struct Fiber {
    Stack* stack;
    bool done = false, turned = false;  // it looked at what others may change, and may look again
    Barrier* waits = nullptr;
    long generation = 0;
    std::size_t at = 0;  // address of the last instruction where it met others
};
struct Block {
    uint3 index;
    unsigned char* shared;
    std::vector<Fiber> fibers;
    std::map<long, Barrier> barriers;  // 0: of the block
    unsigned long long words[32][32];  // of each warp, what its threads tell one another
    long told[32][32];                 // and when: the generation of the barrier at which they met
};
extern OWN_VARIABLE Block* block;
extern OWN_VARIABLE unsigned char* shared;
extern OWN_VARIABLE unsigned self;  // the running thread's number in its block
}  // namespace emulated
extern OWN_VARIABLE uint3 threadIdx, blockIdx;
extern OWN_VARIABLE dim3 blockDim, gridDim;

namespace emulated {
UNCOUNTED inline Fiber& mine() { return block->fibers[self]; }
char* pages(std::size_t size);  // nullptr if there are none
inline uint3 position(unsigned i, dim3 of) { return {i % of.x, i / of.x % of.y, i / of.x / of.y}; }
void leave();
void next(Barrier& barrier);
// Hooks: shared memory of one of the blocks that run by turns; another block goes on; a barrier is passed; all threads of
// a block wait or have run; a lane is read that passes no value. `stuck`: whether a block whose threads all wait can go on.
unsigned char* room(unsigned number, unsigned size);
void enters(Block& next);
void passed(long which);
void paused(Block& all);
void silent(unsigned lane);
bool stuck(Block& all);
long meet(long which, int count, std::size_t at);  // the barrier's generation from then on
void synchronize();
void synchronize_lanes(unsigned lanes = ~0u);
// Lanes of a warp meet, at a barrier for each set of lanes.
UNCOUNTED inline long meet_lanes(unsigned lanes, std::size_t at) {
    return meet(1000 * (1 + long(lanes)) + self / 32, __builtin_popcount(lanes), at);
}
// What lanes of a warp tell one another; who has returned tells nothing.
struct Told {
    const unsigned long long* words;
    unsigned lanes;
};
template <class V> UNCOUNTED Told tell(V value, unsigned lanes, std::size_t at) {
    const unsigned warp = self / 32, lane = self % 32;
    const long met = meet_lanes(lanes, at);  // nobody reads what was told before
    std::memcpy(&(block->words[warp][lane] = 0), &value, sizeof value);
    block->told[warp][lane] = met;
    meet_lanes(lanes, at);
    Told found{block->words[warp], 0};
    for (unsigned i = 0; i < 32; ++i) found.lanes |= unsigned(block->told[warp][i] == met) << i;
    return found;
}
template <class V> OUTSIDE V told_by(V value, unsigned lane, unsigned lanes) {
    const Told told = tell(value, lanes, HERE);
    if (!(told.lanes >> lane & 1)) silent(lane);
    std::memcpy(&value, &told.words[lane], sizeof value);
    return value;
}
// A value into which `next` takes the number of each lane that tells something, and what it tells.
template <class V, class F> OUTSIDE unsigned gathered(unsigned lanes, V own, unsigned found, F next) {
    const Told told = tell(own, lanes, HERE);
    for (unsigned i = 0; i < 32; ++i)
        if (told.lanes >> i & 1) found = next(found, i, told.words[i]);
    return found;
}
// The first of the `width` lanes among which a shuffle stays.
UNCOUNTED inline int first_of(int width) { return self % 32 / width * width; }
template <class To, class From> To bits(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
}  // namespace emulated

#define __syncthreads() emulated::synchronize()
#define __syncwarp emulated::synchronize_lanes
int __syncthreads_count(int own);
static int __syncthreads_or(int own) { return __syncthreads_count(own) != 0; }
static int __syncthreads_and(int own) { return !__syncthreads_or(!own); }
unsigned __activemask();  // all of the warp that have not returned: each thread runs for itself here
// A thread that reads a lane outside its group of `width` lanes gets its own value.
#define SHUFFLE(name, lane)                                                                                            \
    template <class V> IN_PLACE V name(unsigned lanes, V value, int by, int width = 32) {                              \
        const int own = emulated::self % 32, first = emulated::first_of(width);                                        \
        return emulated::told_by(value, lane, lanes);                                                                  \
    }
SHUFFLE(__shfl_sync, first + (by & width - 1))
SHUFFLE(__shfl_xor_sync, (own ^ by) < first + width ? own ^ by : own)
SHUFFLE(__shfl_up_sync, own - by < first ? own : own - by)
SHUFFLE(__shfl_down_sync, own + by < first + width ? own + by : own)
template <class V> IN_PLACE unsigned __match_any_sync(unsigned lanes, V own) {
    const auto next = [own](unsigned found, unsigned lane, unsigned long long x) { return found | unsigned(x == (unsigned long long)own) << lane; };
    return emulated::gathered(lanes, own, 0, next);
}
static IN_PLACE unsigned __ballot_sync(unsigned lanes, bool own) {
    return emulated::gathered(lanes, own, 0, [](unsigned found, unsigned lane, unsigned long long x) { return found | unsigned(x != 0) << lane; });
}
static IN_PLACE bool __any_sync(unsigned lanes, bool own) { return __ballot_sync(lanes, own) != 0; }
static IN_PLACE bool __all_sync(unsigned lanes, bool own) { return !__any_sync(lanes, !own); }
static IN_PLACE int __reduce_add_sync(unsigned lanes, int own) {
    return emulated::gathered(lanes, own, 0, [](unsigned found, unsigned, unsigned long long x) { return found + unsigned(x); });
}
static IN_PLACE unsigned __reduce_min_sync(unsigned lanes, unsigned own) {
    return emulated::gathered(lanes, own, own, [](unsigned found, unsigned, unsigned long long x) { return found < x ? found : unsigned(x); });
}
static IN_PLACE unsigned __reduce_max_sync(unsigned lanes, unsigned own) { return ~__reduce_min_sync(lanes, ~own); }
UNCOUNTED static unsigned __cvta_generic_to_shared(const void* at) { return static_cast<const unsigned char*>(at) - emulated::shared; }
static void* __cvta_shared_to_generic(unsigned at) { return emulated::shared + at; }
static void __threadfence() {}
static void __threadfence_block() {}

#ifndef ATOMICALLY
#define ATOMICALLY(at)
#endif
#define ATOMIC(name, next)                                                                                             \
    template <class V, class X> UNCOUNTED V name(V* at, X x) {                                                         \
        ATOMICALLY(at);                                                                                                \
        const V was = *at;                                                                                             \
        *at = V(next);                                                                                                 \
        return was;                                                                                                    \
    }
ATOMIC(atomicAdd, was + x) ATOMIC(atomicSub, was - x) ATOMIC(atomicExch, x) ATOMIC(atomicOr, was | x) ATOMIC(atomicAnd, was & x)
ATOMIC(atomicMax, was < V(x) ? V(x) : was) ATOMIC(atomicMin, V(x) < was ? V(x) : was) ATOMIC(atomicInc, was >= x ? 0 : was + 1)
ATOMIC(atomicDec, was == 0 || was > x ? x : was - 1) ATOMIC(atomicXor, was ^ x)
template <class V, class X> UNCOUNTED V atomicCAS(V* at, V seen, X x) {
    ATOMICALLY(at);
    const V was = *at;
    if (was == seen) *at = V(x);
    return was;
}

// The lesser and the greater; of a number and NaN, the number.
template <class A, class B> auto min(A a, B b) { using C = std::common_type_t<A, B>; return C(a) < C(b) || C(b) != C(b) ? C(a) : C(b); }
template <class A, class B> auto max(A a, B b) { using C = std::common_type_t<A, B>; return C(a) > C(b) || C(b) != C(b) ? C(a) : C(b); }
static int __float_as_int(float x) { return emulated::bits<int>(x); }
static float __int_as_float(int x) { return emulated::bits<float>(x); }
static unsigned __float_as_uint(float x) { return emulated::bits<unsigned>(x); }
static float __uint_as_float(unsigned x) { return emulated::bits<float>(x); }
static long long __double_as_longlong(double x) { return emulated::bits<long long>(x); }
static double __longlong_as_double(long long x) { return emulated::bits<double>(x); }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static int __ffs(unsigned x) { return __builtin_ffs(int(x)); }
static int __ffsll(long long x) { return __builtin_ffsll(x); }
static int __vimin3_s32(int a, int b, int c) { return min(a, min(b, c)); }
static int __vimax3_s32(int a, int b, int c) { return max(a, max(b, c)); }
static unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { return min(a, min(b, c)); }
static unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return max(a, max(b, c)); }
static unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { return min(a + b, c); }
static int __viaddmax_s32(int a, int b, int c) { return max(a + b, c); }
template <class V> void __stcs(V* to, V value) { *to = value; }
template <class V> V __ldcg(const V* from) { return *from; }
template <class V> V __ldcs(const V* from) { return *from; }

namespace emulated {
extern char* stacks;  // of all threads, one behind the other
extern std::size_t stacks_size;
extern void (*kernel)(const void*);
extern const void* arguments;
void run(unsigned first, unsigned count, unsigned threads, unsigned size, bool backwards);
}  // namespace emulated
#pragma GCC visibility pop
