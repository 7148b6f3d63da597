// Instructions of a card that this library's kernels have in `asm`, launches by name, cooperative grids. Copies to shared
// memory arrive when a thread waits for them, not before.
#include "emulated.h"

struct int2 { int x, y; };
struct int4 { int x, y, z, w; };

#pragma GCC visibility push(hidden)
namespace emulated {
struct Copy { void* to; const void* from; int size, bytes; };
struct Copies { std::vector<Copy> open; std::vector<std::vector<Copy>> groups; };
Copies& own_copies();  // of the running thread
// What others may have changed since this thread looked last.
template <class V> UNCOUNTED V look(const V* at) {
    mine().turned = true;
    leave();
    return *at;
}
static void copy(void* to, const void* from, int size, int bytes) {
    if (reinterpret_cast<std::size_t>(to) % size || reinterpret_cast<std::size_t>(from) % size) std::abort();
    own_copies().open.push_back({to, from, size, bytes});
}
static void commit() { own_copies().groups.push_back(std::exchange(own_copies().open, {})); }
static void wait(std::size_t left) {
    auto& groups = own_copies().groups;
    for (; groups.size() > left; groups.erase(groups.begin()))
        for (const Copy& c : groups[0]) std::memset(c.to, 0, c.size), std::memcpy(c.to, c.from, c.bytes);
}
// Both halves of a word.
using Short = unsigned short;
template <class V, class F> unsigned halves(F f, unsigned a, unsigned b, unsigned c = 0) {
    unsigned found = 0;
    for (int i = 0; i < 32; i += 16) found |= unsigned((unsigned short)f(V(a >> i), V(b >> i), V(c >> i))) << i;
    return found;
}
// Four 8 × 128-bit matrices, a row of 16 bytes at each thread's address.
static void load_matrices(unsigned& x0, unsigned& x1, unsigned& x2, unsigned& x3, unsigned from) {
    const unsigned long long* at = tell(from, ~0u, HERE).words;
    const unsigned lane = self % 32;
    unsigned* to[] = {&x0, &x1, &x2, &x3};
    for (int i = 0; i < 4; ++i) std::memcpy(to[i], shared + unsigned(at[8 * i + lane / 4]) + 4 * (lane % 4), 4);
}
// c ← c + popcount(a ∧ b), 16 × 8 of them over 256 bits.
static void multiply_bits(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    static std::map<Block*, unsigned[32][32][6]> fragments;
    auto& all = fragments[block][self / 32];
    const unsigned lane = self % 32, own[] = {a0, a1, a2, a3, b0, b1};
    meet_lanes(~0u, HERE);
    std::memcpy(all[lane], own, sizeof own);
    meet_lanes(~0u, HERE);
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
template <class... P, std::size_t... i> void call(void (*function)(P...), void* const* given, std::index_sequence<i...>) {
    function(*static_cast<std::remove_const_t<P>*>(given[i])...);
}
template <class... P> void call(void (*function)(P...), void* const* given) { call(function, given, std::index_sequence_for<P...>{}); }
static void grid(dim3 sizes, dim3 threads, unsigned size, int backwards, int together, unsigned from) {
    gridDim = sizes, blockDim = threads;
    const unsigned all = sizes.x * sizes.y * sizes.z, each = threads.x * threads.y * threads.z;
    if (together) run(0, all, each, size, backwards);
    else
        for (unsigned b = from; b < all; ++b) run(b, 1, each, size, backwards);
}
}  // namespace emulated
static unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= unsigned(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return found;
}
#define HALVES(name, V, next)                                                                                          \
    static unsigned name(unsigned a, unsigned b, unsigned c = 0) {                                                     \
        return emulated::halves<V>([](V a, V b, V c) { return V(next); }, a, b, c);                                    \
    }
HALVES(__vminu2, emulated::Short, min(a, b)) HALVES(__vmaxu2, emulated::Short, max(a, b)) HALVES(__vmins2, short, min(a, b)) HALVES(__vmaxs2, short, max(a, b))
HALVES(__vimin3_s16x2, short, min(a, min(b, c))) HALVES(__vimax3_s16x2, short, max(a, max(b, c)))
HALVES(__vimin3_u16x2, emulated::Short, min(a, min(b, c))) HALVES(__vimax3_u16x2, emulated::Short, max(a, max(b, c)))
HALVES(__viaddmin_u16x2, emulated::Short, min(emulated::Short(a + b), c)) HALVES(__viaddmax_u16x2, emulated::Short, max(emulated::Short(a + b), c))
#pragma GCC visibility pop
#ifdef HOOKS  // compiled with the runtime, once
#include <sys/mman.h>

#include <memory>

extern char __attribute__((weak)) __start_shared_variables[], __stop_shared_variables[];
#pragma GCC visibility push(hidden)
namespace emulated {
// Nothing is counted.
void passed(long) {}
void paused(Block&) {}
void silent(unsigned) {}
bool stuck(Block&) { return false; }
static std::vector<Copies> copies;  // of each thread, as its stack is numbered
Copies& own_copies() {
    const std::size_t number = (static_cast<char*>(mine().stack->context.uc_stack.ss_sp) - stacks) / STACK;
    if (number >= copies.size()) copies.resize(number + 1);
    return copies[number];
}
// Shared memory ends where a page does, and nobody may touch the next one.
struct Room {
    std::size_t size, whole;
    char* held;
    explicit Room(std::size_t size) : size(size), whole((size + PAGE - 1) / PAGE * PAGE), held(pages(whole + PAGE)) {
        mprotect(held + whole, PAGE, PROT_NONE);
    }
    ~Room() { munmap(held, whole + PAGE); }
    unsigned char* begin() const { return reinterpret_cast<unsigned char*>(held + (whole - size) / 16 * 16); }
};
// Variables of shared memory by block, where blocks run by turns: what they are while another one runs.
static std::map<unsigned char*, std::vector<char>> variables;
unsigned char* room(unsigned number, unsigned size) {
    static std::vector<std::unique_ptr<Room>> rooms;  // kept for the next blocks, as each new page is a fault
    if (number == 0) copies.clear();
    if (number == 0 && !rooms.empty() && rooms[0]->size != size) rooms.clear();
    if (rooms.size() == number) rooms.push_back(std::make_unique<Room>(size));
    unsigned char* at = rooms[number]->begin();
    if (const std::size_t all = __stop_shared_variables - __start_shared_variables) variables[at].assign(all, 0x7b);
    return at;
}
void enters(Block& next) {
    const std::size_t size = __stop_shared_variables - __start_shared_variables;
    if (block && size) std::memcpy(variables[block->shared].data(), __start_shared_variables, size);
    if (size) std::memcpy(__start_shared_variables, variables[next.shared].data(), size);
}
}  // namespace emulated
#pragma GCC visibility pop
#endif
#define LAUNCH(name)                                                                                                         \
    extern "C" void launch_##name(const unsigned* sizes, unsigned threads, unsigned shared, void** given, int backwards,    \
                                  int together, unsigned from) {                                                             \
        emulated::kernel = [](const void* a) { emulated::call(name, static_cast<void* const*>(a)); };                        \
        emulated::arguments = given;                                                                                         \
        emulated::grid({sizes[0], sizes[1], sizes[2]}, threads, shared, backwards, together, from);                          \
    }
