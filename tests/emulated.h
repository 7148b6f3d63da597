// CUDA on a processor, for tests: threads of a block are fibers that run one at a time until they wait for one another;
// copies to shared memory arrive when a thread waits for them, not before. Blocks run one after the other, those of a
// cooperative grid by turns. A block, or such a grid, in which all wait is a deadlock.
#include <math.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))

struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };

namespace emulated {
struct Dim { unsigned x = 1, y = 1, z = 1; };
struct Copy { void* to; const void* from; int size, bytes; };
struct Barrier { int arrived = 0; long generation = 0; };
struct Fiber {
    ucontext_t context;  // where it begins
    jmp_buf here;        // where it goes on: jumps cost no call of the system
    bool begun = false, done = false, turned = false;  // it looked at what others may change, and may look again
    Barrier* waits = nullptr;
    long generation = 0;
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
};
struct Block {
    Dim index;
    unsigned char* shared;
    std::vector<Fiber> fibers;
    std::vector<char> variables;  // of shared memory: what they are while another block runs
    std::map<int, Barrier> barriers;
    unsigned long long words[32][32];  // of each warp, what its threads tell one another
    unsigned fragments[32][32][6];
};
static Block* block;
static unsigned char* shared;
static jmp_buf scheduler;
}  // namespace emulated
static emulated::Dim threadIdx, blockIdx, blockDim, gridDim;
extern char __attribute__((weak)) __start_shared_variables[], __stop_shared_variables[];

namespace emulated {
static Fiber& mine() { return block->fibers[threadIdx.x]; }
static void leave() {
    if (!_setjmp(mine().here)) _longjmp(scheduler, 1);
}
static __attribute__((noinline)) void go_on(Fiber& f) {
    if (_setjmp(scheduler)) return;
    if (std::exchange(f.begun, true)) _longjmp(f.here, 1);
    setcontext(&f.context);
}
static void meet(int which, int count) {
    Barrier& barrier = block->barriers[which];
    if (++barrier.arrived == count) {
        barrier.arrived = 0, ++barrier.generation;
        return;
    }
    mine().waits = &barrier, mine().generation = barrier.generation;
    leave();
}
// What others may have changed since this thread looked last.
template <class V> V look(const V* at) {
    mine().turned = true;
    leave();
    return *at;
}
static void copy(void* to, const void* from, int size, int bytes) {
    if (reinterpret_cast<std::size_t>(to) % size || reinterpret_cast<std::size_t>(from) % size) std::abort();
    mine().open.push_back({to, from, size, bytes});
}
static void commit() { mine().groups.push_back(std::exchange(mine().open, {})); }
static void wait(std::size_t left) {
    auto& groups = mine().groups;
    for (; groups.size() > left; groups.erase(groups.begin()))
        for (const Copy& c : groups[0]) std::memset(c.to, 0, c.size), std::memcpy(c.to, c.from, c.bytes);
}
// What all threads of a warp tell, to each.
template <class V> const unsigned long long* tell(V value) {
    unsigned long long* told = block->words[threadIdx.x / 32];
    meet(1000 + threadIdx.x / 32, 32);  // nobody reads what was told before
    std::memcpy(&(told[threadIdx.x % 32] = 0), &value, sizeof value);
    meet(1000 + threadIdx.x / 32, 32);
    return told;
}
template <class V> V told_by(V value, unsigned lane) {
    V found;
    std::memcpy(&found, &tell(value)[lane % 32], sizeof found);
    return found;
}
// Four 8 × 128-bit matrices, a row of 16 bytes at each thread's address.
static void load_matrices(unsigned& x0, unsigned& x1, unsigned& x2, unsigned& x3, unsigned from) {
    const unsigned long long* at = tell(from);
    const unsigned lane = threadIdx.x % 32;
    unsigned* to[] = {&x0, &x1, &x2, &x3};
    for (int i = 0; i < 4; ++i) std::memcpy(to[i], shared + unsigned(at[8 * i + lane / 4]) + 4 * (lane % 4), 4);
}
// c ← c + popcount(a ∧ b), 16 × 8 of them over 256 bits.
static void multiply_bits(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    auto& all = block->fragments[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32, own[] = {a0, a1, a2, a3, b0, b1};
    meet(1000 + threadIdx.x / 32, 32);
    std::memcpy(all[lane], own, sizeof own);
    meet(1000 + threadIdx.x / 32, 32);
    int* to[] = {&c0, &c1, &c2, &c3};
    for (int e = 0; e < 4; ++e)
        for (unsigned q = 0; q < 4; ++q) {
            const unsigned *a = all[lane / 4 * 4 + q], *b = all[(lane % 4 * 2 + e % 2) * 4 + q];
            *to[e] += __builtin_popcount(a[e / 2] & b[4]) + __builtin_popcount(a[2 + e / 2] & b[5]);
        }
}
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
}  // namespace emulated

static void __syncthreads() { emulated::meet(0, blockDim.x); }
static void __syncwarp() { emulated::meet(1000 + threadIdx.x / 32, 32); }
static int __syncthreads_or(int own) {
    static std::map<emulated::Block*, int> any;  // by turns: set to 0 by the first that comes
    __syncthreads();
    any[emulated::block] = 0;
    __syncthreads();
    any[emulated::block] |= own != 0;
    __syncthreads();
    return any[emulated::block];
}
static int __syncthreads_count(int own) {
    static std::map<emulated::Block*, int> count;
    __syncthreads();
    count[emulated::block] = 0;
    __syncthreads();
    count[emulated::block] += own != 0;
    __syncthreads();
    return count[emulated::block];
}
template <class V> V __shfl_sync(unsigned, V value, int from) { return emulated::told_by(value, from); }
template <class V> V __shfl_xor_sync(unsigned, V value, int by) { return emulated::told_by(value, threadIdx.x ^ by); }
template <class V> V __shfl_up_sync(unsigned, V value, int by) {
    const int lane = threadIdx.x % 32;
    return emulated::told_by(value, lane < by ? lane : lane - by);
}
static unsigned __ballot_sync(unsigned, bool own) {
    const unsigned long long* told = emulated::tell(own);
    unsigned found = 0;
    for (int i = 0; i < 32; ++i) found |= unsigned(told[i] != 0) << i;
    return found;
}
static bool __any_sync(unsigned all, bool own) { return __ballot_sync(all, own) != 0; }
static int __reduce_add_sync(unsigned, int own) {
    const unsigned long long* told = emulated::tell(own);
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += int(told[i]);
    return sum;
}
static unsigned __reduce_min_sync(unsigned, unsigned own) {
    const unsigned long long* told = emulated::tell(own);
    unsigned least = own;
    for (int i = 0; i < 32; ++i) least = least < told[i] ? least : unsigned(told[i]);
    return least;
}
static unsigned __reduce_max_sync(unsigned all, unsigned own) { return ~__reduce_min_sync(all, ~own); }
static unsigned __cvta_generic_to_shared(const void* at) { return static_cast<const unsigned char*>(at) - emulated::shared; }
static void* __cvta_shared_to_generic(unsigned at) { return emulated::shared + at; }
static void __threadfence() {}
static void __threadfence_block() {}

template <class V, class X> V atomicAdd(V* at, X x) { return std::exchange(*at, V(*at + x)); }
template <class V, class X> V atomicOr(V* at, X x) { return std::exchange(*at, V(*at | x)); }
template <class V, class X> V atomicAnd(V* at, X x) { return std::exchange(*at, V(*at & x)); }
template <class V, class X> V atomicCAS(V* at, V seen, X x) { return std::exchange(*at, *at == seen ? V(x) : *at); }
template <class V, class X> V atomicMax(V* at, X x) { return std::exchange(*at, *at < V(x) ? V(x) : *at); }
template <class V, class X> V atomicMin(V* at, X x) { return std::exchange(*at, V(x) < *at ? V(x) : *at); }
static unsigned atomicInc(unsigned* at, unsigned last) { return std::exchange(*at, *at >= last ? 0 : *at + 1); }

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
static void (*kernel)(void**);
static void** arguments;
static void fiber() {
    kernel(arguments);
    mine().done = true;
    leave();
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

// So many blocks by turns, from one on; `backwards`, whether the last thread of each runs first.
static void run(unsigned first, unsigned count, unsigned threads, unsigned size, bool backwards) {
    constexpr std::size_t stack = 1 << 16;
    static char* stacks = nullptr;
    static std::size_t held = 0;
    if (held < count * threads * stack) {
        if (stacks) munmap(stacks, held);
        stacks = pages(held = count * threads * stack);
    }
    std::vector<Block> blocks(count);
    std::vector<std::unique_ptr<Room>> rooms;
    char* at = stacks;
    for (unsigned b = 0; b < count; ++b) {
        Block& one = blocks[b];
        const unsigned index = first + b;
        one.index = {index % gridDim.x, index / gridDim.x % gridDim.y, index / gridDim.x / gridDim.y};
        rooms.push_back(std::make_unique<Room>(size));
        one.shared = rooms.back()->begin();
        std::memset(one.shared, 0x7b, size);  // what nobody wrote is no number
        one.variables.assign(__stop_shared_variables - __start_shared_variables, 0x7b);
        one.fibers.resize(threads);
        for (Fiber& f : one.fibers) {
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = at, f.context.uc_stack.ss_size = stack, at += stack;
            makecontext(&f.context, fiber, 0);
        }
    }
    block = nullptr;
    int looks = 0;  // in which all that were not waiting looked in vain
    for (unsigned left = count * threads; left;) {
        bool some = false, turned = false;
        for (Block& one : blocks)
            for (unsigned k = 0; k < threads; ++k) {
                const unsigned t = backwards ? threads - 1 - k : k;
                Fiber& f = one.fibers[t];
                if (f.done || (f.waits && f.waits->generation == f.generation)) continue;
                f.waits = nullptr, f.turned = false;
                enter(one), threadIdx = {t, 0, 0};
                go_on(f);
                (f.turned ? turned : some) = true;
                left -= f.done;
            }
        looks = some ? 0 : looks + 1;
        if (!some && (!turned || looks > 1000)) std::fprintf(stderr, "all threads of block %u wait\n", first), std::abort();
    }
}
static void grid(const unsigned* sizes, unsigned threads, unsigned size, int backwards, int together, unsigned from) {
    gridDim = {sizes[0], sizes[1], sizes[2]}, blockDim = {threads, 1, 1};
    const unsigned all = gridDim.x * gridDim.y * gridDim.z;
    if (together) run(0, all, threads, size, backwards);
    else
        for (unsigned b = from; b < all; ++b) run(b, 1, threads, size, backwards);
}
template <class... P, std::size_t... i> void call(void (*function)(P...), void** given, std::index_sequence<i...>) {
    function(*static_cast<std::remove_const_t<P>*>(given[i])...);
}
template <class... P> void call(void (*function)(P...), void** given) { call(function, given, std::index_sequence_for<P...>{}); }
}  // namespace emulated
#define LAUNCH(name)                                                                                                         \
    extern "C" void launch_##name(const unsigned* sizes, unsigned threads, unsigned shared, void** given, int backwards,    \
                                  int together, unsigned from) {                                                             \
        emulated::kernel = [](void** a) { emulated::call(name, a); };                                                        \
        emulated::arguments = given;                                                                                         \
        emulated::grid(sizes, threads, shared, backwards, together, from);                                                   \
    }
