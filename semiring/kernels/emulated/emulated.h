// CUDA on a processor: threads of a block are fibers that run one at a time until they wait for one another; copies to
// shared memory arrive when a thread waits for them, not before. Blocks run one after the other, those of a cooperative
// grid by turns. A block, or such a grid, in which all wait is a deadlock.
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
#define DEVICE_VARIABLE __attribute__((section("device_variables")))
#define MANAGED_VARIABLE __attribute__((section("managed_variables")))
#define __align__(bytes) __attribute__((aligned(bytes)))

// Of what an instrumented translation unit runs on behalf of the runtime, nothing is counted.
#define UNCOUNTED __attribute__((no_sanitize("thread")))

#ifndef COUNTED
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
#endif
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
struct Copy { void* to; const void* from; int size, bytes; };
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
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
};
struct Block {
    uint3 index;
    unsigned char* shared;
    std::vector<Fiber> fibers;
    std::vector<char> variables;  // of shared memory: what they are while another block runs
    std::map<long, Barrier> barriers;  // 0: of the block
    unsigned long long words[32][32];  // of each warp, what its threads tell one another
    long told[32][32];                 // and when: the generation of the barrier at which they met
    unsigned fragments[32][32][6];
};
extern DEVICE_VARIABLE Block* block;
extern DEVICE_VARIABLE unsigned char* shared;
extern DEVICE_VARIABLE unsigned self;  // the running thread's number in its block
}  // namespace emulated
extern DEVICE_VARIABLE uint3 threadIdx, blockIdx;
extern DEVICE_VARIABLE dim3 blockDim, gridDim;

namespace emulated {
UNCOUNTED inline Fiber& mine() { return block->fibers[self]; }
void leave();
void next(Barrier& barrier);
void open(Barrier& barrier, long which);
void passed(long which);
void paused(Block& all);
bool stuck(Block& all);
void on_stacks(char* memory, std::size_t size);
long meet(long which, int count);  // the barrier's generation from then on
// What others may have changed since this thread looked last.
template <class V> UNCOUNTED V look(const V* at) {
    mine().turned = true;
    leave();
    return *at;
}
void copy(void* to, const void* from, int size, int bytes);
void commit();
void wait(std::size_t left);
// Lanes of a warp meet, at a barrier for each set of lanes.
UNCOUNTED inline long meet_lanes(unsigned lanes) { return meet(1000 * (1 + long(lanes)) + self / 32, __builtin_popcount(lanes)); }
// What lanes of a warp tell one another; who has returned tells nothing.
struct Told {
    const unsigned long long* words;
    unsigned lanes;
    template <class F> UNCOUNTED void each(F visit) const {
        for (unsigned i = 0; i < 32; ++i)
            if (lanes >> i & 1) visit(i, words[i]);
    }
};
template <class V> UNCOUNTED Told tell(V value, unsigned lanes = ~0u) {
    const unsigned warp = self / 32, lane = self % 32;
    const long met = meet_lanes(lanes);  // nobody reads what was told before
    std::memcpy(&(block->words[warp][lane] = 0), &value, sizeof value);
    block->told[warp][lane] = met;
    meet_lanes(lanes);
    Told found{block->words[warp], 0};
    for (unsigned i = 0; i < 32; ++i) found.lanes |= unsigned(block->told[warp][i] == met) << i;
    return found;
}
void silent(unsigned lane);
template <class V> UNCOUNTED V told_by(V value, unsigned lane, unsigned lanes = ~0u) {
    const Told told = tell(value, lanes);
    if (!(told.lanes >> lane & 1)) silent(lane);
    std::memcpy(&value, &told.words[lane], sizeof value);
    return value;
}
// The first of the `width` lanes among which a shuffle stays.
UNCOUNTED inline int first_of(int width) { return self % 32 / width * width; }
void load_matrices(unsigned& x0, unsigned& x1, unsigned& x2, unsigned& x3, unsigned from);
void multiply_bits(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1);
static unsigned pack_pair(int high, int low, unsigned rest) {
    const auto two = [](int x) { return unsigned(x < -2 ? -2 : x > 1 ? 1 : x) & 3; };
    return rest << 4 | two(high) << 2 | two(low);
}
template <class To, class From> To bits(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
// Both halves of a word.
template <class V, class F> unsigned halves(F f, unsigned a, unsigned b, unsigned c = 0) {
    unsigned found = 0;
    for (int i = 0; i < 32; i += 16) found |= unsigned((unsigned short)f(V(a >> i), V(b >> i), V(c >> i))) << i;
    return found;
}
// float16 and bfloat16, rounded to even.
static float from_half(unsigned short x) {
    const int exponent = x >> 10 & 31, fraction = x & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY) : ldexpf(fraction + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
    return x >> 15 ? -size : size;
}
static unsigned short to_half(float x) {
    const unsigned sign = std::signbit(x) ? 0x8000 : 0;
    if (x != x) return 0x7fff;
    if (!(fabsf(x) < 65520)) return sign | 0x7c00;
    const int exponent = x == 0 || ilogbf(x) < -14 ? -14 : ilogbf(x);
    const int units = int(nearbyintf(ldexpf(fabsf(x), 10 - exponent)));  // 2048 carries into the exponent
    return sign | (units < 1024 ? units : (exponent + 14 << 10) + units);
}
static unsigned short to_bfloat(float x) {
    const unsigned now = bits<unsigned>(x);
    return x != x ? 0x7fff : (now + 0x7fff + (now >> 16 & 1)) >> 16;
}
}  // namespace emulated

UNCOUNTED static void __syncthreads() { emulated::meet(0, emulated::block->fibers.size()); }
static void __syncwarp(unsigned lanes = ~0u) { emulated::meet_lanes(lanes); }
int __syncthreads_or(int own);
int __syncthreads_count(int own);
static int __syncthreads_and(int own) { return !__syncthreads_or(!own); }
unsigned __activemask();  // all of the warp that have not returned: each thread runs for itself here
template <class V> V __shfl_sync(unsigned lanes, V value, int from, int width = 32) {
    return emulated::told_by(value, emulated::first_of(width) + (from & width - 1), lanes);
}
template <class V> V __shfl_xor_sync(unsigned lanes, V value, int by, int width = 32) {
    const int own = emulated::self % 32, lane = own ^ by;
    return emulated::told_by(value, lane < emulated::first_of(width) + width ? lane : own, lanes);
}
template <class V> V __shfl_up_sync(unsigned lanes, V value, int by, int width = 32) {
    const int own = emulated::self % 32;
    return emulated::told_by(value, own - by < emulated::first_of(width) ? own : own - by, lanes);
}
template <class V> V __shfl_down_sync(unsigned lanes, V value, int by, int width = 32) {
    const int own = emulated::self % 32;
    return emulated::told_by(value, own + by < emulated::first_of(width) + width ? own + by : own, lanes);
}
template <class V> UNCOUNTED unsigned __match_any_sync(unsigned lanes, V own) {
    unsigned found = 0;
    emulated::tell(own, lanes).each([&](int i, unsigned long long x) { found |= unsigned(x == (unsigned long long)own) << i; });
    return found;
}
UNCOUNTED static unsigned __ballot_sync(unsigned lanes, bool own) {
    unsigned found = 0;
    emulated::tell(own, lanes).each([&](int i, unsigned long long x) { found |= unsigned(x != 0) << i; });
    return found;
}
static bool __any_sync(unsigned lanes, bool own) { return __ballot_sync(lanes, own) != 0; }
static bool __all_sync(unsigned lanes, bool own) { return !__any_sync(lanes, !own); }
UNCOUNTED static int __reduce_add_sync(unsigned lanes, int own) {
    int sum = 0;
    emulated::tell(own, lanes).each([&](int, unsigned long long x) { sum += int(x); });
    return sum;
}
UNCOUNTED static unsigned __reduce_min_sync(unsigned lanes, unsigned own) {
    emulated::tell(own, lanes).each([&](int, unsigned long long x) { own = own < x ? own : unsigned(x); });
    return own;
}
static unsigned __reduce_max_sync(unsigned lanes, unsigned own) { return ~__reduce_min_sync(lanes, ~own); }
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
static unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= unsigned(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return found;
}
static int __vimin3_s32(int a, int b, int c) { return min(a, min(b, c)); }
static int __vimax3_s32(int a, int b, int c) { return max(a, max(b, c)); }
static unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { return min(a, min(b, c)); }
static unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return max(a, max(b, c)); }
static unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { return min(a + b, c); }
static int __viaddmax_s32(int a, int b, int c) { return max(a + b, c); }
using Short = unsigned short;
static unsigned __vminu2(unsigned a, unsigned b) { return emulated::halves<Short>([](Short a, Short b, Short) { return min(a, b); }, a, b); }
static unsigned __vmaxu2(unsigned a, unsigned b) { return emulated::halves<Short>([](Short a, Short b, Short) { return max(a, b); }, a, b); }
static unsigned __vmins2(unsigned a, unsigned b) { return emulated::halves<short>([](short a, short b, short) { return min(a, b); }, a, b); }
static unsigned __vmaxs2(unsigned a, unsigned b) { return emulated::halves<short>([](short a, short b, short) { return max(a, b); }, a, b); }
static unsigned __vimin3_s16x2(unsigned a, unsigned b, unsigned c) { return __vmins2(a, __vmins2(b, c)); }
static unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) { return __vmaxs2(a, __vmaxs2(b, c)); }
static unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c) { return __vminu2(a, __vminu2(b, c)); }
static unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) { return __vmaxu2(a, __vmaxu2(b, c)); }
static unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
    return emulated::halves<Short>([](Short a, Short b, Short c) { return min(Short(a + b), c); }, a, b, c);
}
static unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c) {
    return emulated::halves<Short>([](Short a, Short b, Short c) { return max(Short(a + b), c); }, a, b, c);
}
template <class V> void __stcs(V* to, V value) { *to = value; }
template <class V> V __ldcg(const V* from) { return *from; }
template <class V> V __ldcs(const V* from) { return *from; }

namespace emulated {
extern void (*kernel)(void**);
extern void** arguments;
void run(unsigned first, unsigned count, unsigned threads, unsigned size, bool backwards);
void grid(dim3 sizes, dim3 threads, unsigned size, int backwards, int together, unsigned from);
template <class... P, std::size_t... i> void call(void (*function)(P...), void** given, std::index_sequence<i...>) {
    function(*static_cast<std::remove_const_t<P>*>(given[i])...);
}
template <class... P> void call(void (*function)(P...), void** given) { call(function, given, std::index_sequence_for<P...>{}); }
}  // namespace emulated
#pragma GCC visibility pop
#define LAUNCH(name)                                                                                                         \
    extern "C" void launch_##name(const unsigned* sizes, unsigned threads, unsigned shared, void** given, int backwards,    \
                                  int together, unsigned from) {                                                             \
        emulated::kernel = [](void** a) { emulated::call(name, a); };                                                        \
        emulated::arguments = given;                                                                                         \
        emulated::grid({sizes[0], sizes[1], sizes[2]}, threads, shared, backwards, together, from);                          \
    }
