// What a file of CUDA C++ asks of the host that launches its kernels; and memory that is shared or lies on the device.
#pragma once
#define COUNTED
#define __global__ __attribute__((noinline))
#define __host__
#define __constant__
#define __restrict__
#include <cstddef>
extern "C" unsigned char shared_memory[];
namespace emulated {
void access(const void* where, int size, bool write, std::size_t pc, bool atomic = false);
}
#define ATOMICALLY(at) emulated::access(at, sizeof *at, true, std::size_t(__builtin_return_address(0)), true)
#include "emulated.h"

// What copies and fills memory touches it all: the library's own, and those that a compiler puts in.
#ifndef COUNTING
extern "C" {
void* memcpy(void*, const void*, std::size_t) noexcept __asm__("counted_memcpy");
void* memmove(void*, const void*, std::size_t) noexcept __asm__("counted_memmove");
void* memset(void*, int, std::size_t) noexcept __asm__("counted_memset");
}
#endif

#include <cassert>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <limits>

#define CUDART_INF_F INFINITY
#define CUDART_INF INFINITY

// Two or four numbers that are read and written by one instruction.
namespace emulated {
template <class Fields> struct alignas(sizeof(Fields)) Wide : Fields {
    using V = decltype(Fields::x);
    Wide() = default;
    template <class... P> UNCOUNTED Wide(V x, V y, P... more) : Fields{x, y, V(more)...} {}
    OUTSIDE Wide(const Wide& o) : Fields(o) { access(&o, sizeof o, false, HERE); }
    OUTSIDE Wide& operator=(const Wide& o) {
        access(&o, sizeof o, false, HERE), access(this, sizeof o, true, HERE);
        return Fields::operator=(o), *this;
    }
};
}  // namespace emulated
#define WIDE(name, V, ...)                                                                                            \
    struct fields_of_##name { V __VA_ARGS__; };                                                                       \
    using name = emulated::Wide<fields_of_##name>;                                                                              \
    template <class... P> name make_##name(P... fields) { return {V(fields)...}; }
WIDE(int2, int, x, y) WIDE(uint2, unsigned, x, y) WIDE(float2, float, x, y) WIDE(double2, double, x, y)
WIDE(int4, int, x, y, z, w) WIDE(float4, float, x, y, z, w)
struct int3 { int x, y, z; };
struct float3 { float x, y, z; };
static int3 make_int3(int x, int y, int z) { return {x, y, z}; }
static float3 make_float3(float x, float y, float z) { return {x, y, z}; }
template <class V> V __ldg(const V* from) { return *from; }

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation };
using cudaError = cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
using cudaStream_t = void*;

namespace emulated {
void* allocate(std::size_t size, const char* name, std::size_t pc, bool managed = false);
bool release(void* at);
void copy(void* to, std::size_t apart, const void* from, std::size_t each, std::size_t width, std::size_t rows, int kind, std::size_t pc);
void fill(void* to, int value, std::size_t size, std::size_t pc);
void move(void* to, const void* from, std::size_t size);
void* variable(int number, std::size_t size, const char* name);
extern int allowed;  // bytes of dynamic shared memory that a launch may ask for
void written(const void* at, std::size_t size);
extern char dtype[16];  // of the numbers in the matrix
extern bool running;    // a kernel may be, on a card: the host has not waited since it was launched
[[noreturn]] void refuse(const char* why);
template <class V> V& variable(int number, const char* name) { return *static_cast<V*>(variable(number, sizeof(V), name)); }

// kernel<<<grid, block, shared, stream>>>(…): each thread gets copies of what was given.
struct Launch {
    int line;
    const char* name;
    dim3 grid, block;
    std::size_t shared;
    Launch(int line, const char* name, dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t = nullptr)
        : line(line), name(name), grid(grid), block(block), shared(shared) {}
    void run(void (*thread)(const void*), const void* given) const;
    template <class F> auto of(F kernel) const {
        return [launch = *this, kernel](auto... given) {
            const auto each = [=]() UNCOUNTED { kernel(given...); };
            launch.run([](const void* it) UNCOUNTED { (*static_cast<decltype(each)*>(it))(); }, &each);
        };
    }
};
// On a card the host waits for kernels here, for all streams alike.
UNCOUNTED static cudaError_t waited() { return running = false, cudaSuccess; }
template <class V> cudaError_t allocated(V** to, void* at) { return *to = static_cast<V*>(at), cudaSuccess; }
}  // namespace emulated
#define EMULATED_KERNEL(...) [=](auto... given) UNCOUNTED { __VA_ARGS__(given...); }
#define EMULATED_SHARED(V, name) V (&name)[] = *reinterpret_cast<V (*)[]>(shared_memory)
#define EMULATED_CLOSURE(closure) void emulated::solve(Given given) { close_by(closure, given); }

struct cudaEvent {};
using cudaEvent_t = cudaEvent;
static cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
static cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
static cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
static cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
static cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
static cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
static cudaError_t cudaEventSynchronize(cudaEvent_t) { return emulated::waited(); }
static cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
static cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 0, cudaSuccess; }  // no clock

template <class V> OUTSIDE cudaError_t cudaMalloc(V** to, std::size_t size) { return emulated::allocated(to, emulated::allocate(size, "cudaMalloc", HERE)); }
template <class V> OUTSIDE cudaError_t cudaMallocAsync(V** to, std::size_t size, cudaStream_t) {
    return emulated::allocated(to, emulated::allocate(size, "cudaMallocAsync", HERE));
}
template <class V> OUTSIDE cudaError_t cudaMallocPitch(V** to, std::size_t* pitch, std::size_t width, std::size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return emulated::allocated(to, emulated::allocate(*pitch * height, "cudaMallocPitch", HERE));
}
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
template <class V> OUTSIDE cudaError_t cudaMallocManaged(V** to, std::size_t size, unsigned = cudaMemAttachGlobal) {
    return emulated::allocated(to, emulated::allocate(size, "cudaMallocManaged", HERE, true));
}
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaStreamNonBlocking = 1;
template <class V> cudaError_t cudaHostAlloc(V** to, std::size_t size, unsigned) { return emulated::allocated(to, std::malloc(size)); }
template <class V> cudaError_t cudaMallocHost(V** to, std::size_t size) { return cudaHostAlloc(to, size, 0); }
static cudaError_t cudaFreeHost(void* at) { return std::free(at), cudaSuccess; }
static cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return emulated::release(at) ? cudaSuccess : cudaErrorInvalidValue; }
static cudaError_t cudaFree(void* at) { return emulated::waited(), cudaFreeAsync(at, nullptr); }
constexpr int cudaCpuDeviceId = -1;
static cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
OUTSIDE static cudaError_t cudaMemcpy2D(void* to, std::size_t apart, const void* from, std::size_t each, std::size_t width, std::size_t rows, cudaMemcpyKind kind) {
    return emulated::copy(to, apart, from, each, width, rows, kind, HERE), emulated::waited();
}
OUTSIDE static cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
    return emulated::copy(to, size, from, size, size, 1, kind, HERE), emulated::waited();
}
OUTSIDE static cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return emulated::copy(to, size, from, size, size, 1, kind, HERE), cudaSuccess;
}
template <class S> cudaError_t cudaMemcpyToSymbol(S& to, const void* from, std::size_t size, std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
    return emulated::move(reinterpret_cast<char*>(&to) + offset, from, size), emulated::waited();
}
template <class S> cudaError_t cudaMemcpyFromSymbol(void* to, const S& from, std::size_t size, std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
    return emulated::move(to, reinterpret_cast<const char*>(&from) + offset, size), emulated::waited();
}
template <class S> cudaError_t cudaGetSymbolAddress(void** to, const S& of) { return *to = const_cast<S*>(&of), cudaSuccess; }
static cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
static cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
static cudaError_t cudaSetDevice(int device) { return device ? cudaErrorInvalidValue : cudaSuccess; }
static cudaError_t cudaDeviceReset() { return emulated::waited(); }
static cudaError_t cudaStreamCreate(cudaStream_t* made) { return *made = nullptr, cudaSuccess; }
static cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) { return cudaStreamCreate(made); }
static cudaError_t cudaStreamSynchronize(cudaStream_t) { return emulated::waited(); }
static cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
OUTSIDE static cudaError_t cudaMemset(void* to, int value, std::size_t size) { return emulated::fill(to, value, size, HERE), cudaSuccess; }
OUTSIDE static cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t = nullptr) {
    return emulated::fill(to, value, size, HERE), cudaSuccess;
}
static cudaError_t cudaDeviceSynchronize() { return emulated::waited(); }
static cudaError_t cudaThreadSynchronize() { return emulated::waited(); }
static cudaError_t cudaGetLastError() { return cudaSuccess; }
static cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
static const char* cudaGetErrorString(cudaError_t error) { return error ? "invalid value" : "no error"; }
static const char* cudaGetErrorName(cudaError_t error) { return error ? "cudaErrorInvalidValue" : "cudaSuccess"; }

// An A100, of compute capability 8.0 (CUDA C++ Programming Guide, technical specifications by compute capability).
struct cudaDeviceProp {
    char name[256] = "emulated on the processor";
    std::size_t totalGlobalMem = 40ull << 30, sharedMemPerBlock = 48 << 10, sharedMemPerBlockOptin = 163 << 10;
    std::size_t sharedMemPerMultiprocessor = 164 << 10, totalConstMem = 64 << 10;
    int regsPerBlock = 65536, regsPerMultiprocessor = 65536, warpSize = 32, maxThreadsPerBlock = 1024;
    int maxThreadsDim[3] = {1024, 1024, 64}, maxGridSize[3] = {INT_MAX, 65535, 65535};
    int major = 8, minor = 0, multiProcessorCount = 108, maxThreadsPerMultiProcessor = 2048, l2CacheSize = 40 << 20;
    int managedMemory = 1, concurrentManagedAccess = 1, cooperativeLaunch = 0;
};
static cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) { return *free = *all = cudaDeviceProp{}.totalGlobalMem, cudaSuccess; }
static cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int) { return *found = {}, cudaSuccess; }
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout };
template <class F> cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute of, int value) {
    if (of == cudaFuncAttributeMaxDynamicSharedMemorySize && value > emulated::allowed) emulated::allowed = value;
    return cudaSuccess;
}

namespace emulated {
// The file's `closure` on a matrix of doubles, in whatever numbers it takes; ∞ is the largest of an integer type.
struct Given {
    double* entries;
    int n, pitch;
};
template <class V> UNCOUNTED void close_by(void (*closure)(V*, int, int), Given given) {
    const bool whole = std::is_integral_v<V>;
    std::snprintf(dtype, sizeof dtype, "%s%zu", whole ? "int" : "float", 8 * sizeof(V));
    using Limits = std::numeric_limits<V>;
    const V most = whole ? Limits::max() : Limits::infinity(), least = whole ? Limits::lowest() : -Limits::infinity();
    const int n = given.n, pitch = given.pitch;
    bool lowest = std::is_signed_v<V>;  // is it −∞: of unsigned integers, 0 is where there is one
    for (std::size_t i = 0; i < std::size_t(n) * n; ++i) lowest |= given.entries[i] == -INFINITY;
    V* D = static_cast<V*>(allocate(sizeof(V) * n * std::size_t(pitch), "D", 0));
    written(D, sizeof(V) * n * std::size_t(pitch));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < pitch; ++j) {
            const double x = j < n ? given.entries[std::size_t(i) * n + j] : INFINITY;
            if (whole && std::isfinite(x) && (x != std::floor(x) || x >= double(most) || x < double(least) || (lowest && x == double(least)))) {
                char why[200];
                std::snprintf(why, sizeof why, "closure takes %zu-bit integers, and the weight from %d to %d is %g: take float* or double* instead", 8 * sizeof(V), i, j, x);
                refuse(why);
            }
            D[std::size_t(i) * pitch + j] = x == INFINITY ? most : x == -INFINITY ? least : V(x);
        }
    closure(D, n, pitch);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const V x = D[std::size_t(i) * pitch + j];
            given.entries[std::size_t(i) * n + j] = whole && x == most ? INFINITY : whole && lowest && x == least ? -INFINITY : double(x);
        }
}
template <class V> void close_by(void (*closure)(V*, int), Given given) {
    static void (*two)(V*, int);
    two = closure, given.pitch = given.n;
    close_by<V>(+[](V* D, int n, int) { two(D, n); }, given);
}
void solve(Given given);
}  // namespace emulated

// Names that a program may have for things of its own.
#ifndef COUNTING
#undef OUTSIDE
#undef HERE
#undef IN_PLACE
#undef WIDE
#undef SHUFFLE
#undef ATOMIC
#endif
