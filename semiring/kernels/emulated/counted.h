// What a file of CUDA C++ asks of the host that launches its kernels; and memory that is shared or lies on the device.
#pragma once
#define COUNTED
#define __global__ __attribute__((noinline))
#define __host__
#define __constant__
#define __restrict__
#include <cstddef>
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
#define OUTSIDE __attribute__((noinline)) UNCOUNTED
#define HERE std::size_t(__builtin_return_address(0))
#define WIDE2(name, V)                                                                                                \
    struct alignas(2 * sizeof(V)) name {                                                                              \
        V x, y;                                                                                                       \
        name() = default;                                                                                             \
        UNCOUNTED name(V x, V y) : x(x), y(y) {}                                                                      \
        OUTSIDE name(const name& o) { emulated::access(&o, sizeof o, false, HERE), x = o.x, y = o.y; }                \
        OUTSIDE name& operator=(const name& o) {                                                                      \
            emulated::access(&o, sizeof o, false, HERE), emulated::access(this, sizeof o, true, HERE);                \
            x = o.x, y = o.y;                                                                                         \
            return *this;                                                                                             \
        }                                                                                                             \
    };                                                                                                                \
    static name make_##name(V x, V y) { return {x, y}; }
#define WIDE4(name, V)                                                                                                \
    struct alignas(4 * sizeof(V)) name {                                                                              \
        V x, y, z, w;                                                                                                 \
        name() = default;                                                                                             \
        UNCOUNTED name(V x, V y, V z, V w) : x(x), y(y), z(z), w(w) {}                                                \
        OUTSIDE name(const name& o) { emulated::access(&o, sizeof o, false, HERE), x = o.x, y = o.y, z = o.z, w = o.w; }\
        OUTSIDE name& operator=(const name& o) {                                                                      \
            emulated::access(&o, sizeof o, false, HERE), emulated::access(this, sizeof o, true, HERE);                \
            x = o.x, y = o.y, z = o.z, w = o.w;                                                                       \
            return *this;                                                                                             \
        }                                                                                                             \
    };                                                                                                                \
    static name make_##name(V x, V y, V z, V w) { return {x, y, z, w}; }
WIDE2(int2, int) WIDE4(int4, int) WIDE2(float2, float) WIDE4(float4, float) WIDE2(double2, double) WIDE2(uint2, unsigned)
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
void wait_for_kernels();  // on a card: here all that was launched has ended
bool release(void* at);
void copy(void* to, std::size_t apart, const void* from, std::size_t each, std::size_t width, std::size_t rows, int kind, std::size_t pc);
void fill(void* to, int value, std::size_t size, std::size_t pc);
void move(void* to, const void* from, std::size_t size);
void* variable(int number, std::size_t size, const char* name);
template <class V> V* dynamic() { return reinterpret_cast<V*>(shared); }
void allow_shared(std::size_t size);
void synchronize();
void synchronize_lanes(unsigned lanes = ~0u);
void written(const void* at, std::size_t size);
void computed_in(bool whole, int bytes);
[[noreturn]] void refuse(const char* why);
template <class V> V& variable(int number, const char* name) { return *static_cast<V*>(variable(number, sizeof(V), name)); }

struct Launch {
    dim3 grid, block;
    std::size_t shared;
    int line;
    const char* name;
    void run(void (*thread)(const void*), const void* given) const;
};
// kernel<<<grid, block, shared, stream>>>(…): each thread gets copies of what was given.
template <class F> struct Launcher {
    Launch launch;
    F kernel;
    template <class... P> void operator()(P... given) const {
        const auto each = [this, given...]() UNCOUNTED { kernel(given...); };
        launch.run([](const void* it) UNCOUNTED { (*static_cast<decltype(each)*>(it))(); }, &each);
    }
};
struct Configured {
    int line;
    const char* name;
    struct Sized {
        Launch launch;
        template <class F> Launcher<F> of(F kernel) const { return {launch, kernel}; }
    };
    Sized operator()(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t = nullptr) const {
        return {{grid, block, shared, line, name}};
    }
};
}  // namespace emulated
#define __syncthreads() emulated::synchronize()
#define __syncwarp emulated::synchronize_lanes

// On a card the host waits for kernels here, for all streams alike.
static cudaError_t waited() { return emulated::wait_for_kernels(), cudaSuccess; }
struct cudaEvent {};
using cudaEvent_t = cudaEvent;
static cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
static cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
static cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
static cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
static cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
static cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
static cudaError_t cudaEventSynchronize(cudaEvent_t) { return waited(); }
static cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
static cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 0, cudaSuccess; }  // no clock

template <class V> OUTSIDE cudaError_t cudaMalloc(V** to, std::size_t size) {
    *to = static_cast<V*>(emulated::allocate(size, "cudaMalloc", HERE));
    return cudaSuccess;
}
template <class V> OUTSIDE cudaError_t cudaMallocAsync(V** to, std::size_t size, cudaStream_t) {
    *to = static_cast<V*>(emulated::allocate(size, "cudaMallocAsync", HERE));
    return cudaSuccess;
}
template <class V> OUTSIDE cudaError_t cudaMallocPitch(V** to, std::size_t* pitch, std::size_t width, std::size_t height) {
    *pitch = (width + 511) / 512 * 512;
    *to = static_cast<V*>(emulated::allocate(*pitch * height, "cudaMallocPitch", HERE));
    return cudaSuccess;
}
static cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return emulated::release(at) ? cudaSuccess : cudaErrorInvalidValue; }
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
constexpr int cudaCpuDeviceId = -1;
template <class V> OUTSIDE cudaError_t cudaMallocManaged(V** to, std::size_t size, unsigned = cudaMemAttachGlobal) {
    *to = static_cast<V*>(emulated::allocate(size, "cudaMallocManaged", HERE, true));
    return cudaSuccess;
}
static cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
static cudaError_t cudaFree(void* at) { return waited(), emulated::release(at) ? cudaSuccess : cudaErrorInvalidValue; }
OUTSIDE static cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
    emulated::copy(to, size, from, size, size, 1, kind, HERE);
    return waited();
}
OUTSIDE static cudaError_t cudaMemcpy2D(void* to, std::size_t apart, const void* from, std::size_t each, std::size_t width, std::size_t rows, cudaMemcpyKind kind) {
    emulated::copy(to, apart, from, each, width, rows, kind, HERE);
    return waited();
}
template <class S> cudaError_t cudaMemcpyToSymbol(S& to, const void* from, std::size_t size, std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
    return emulated::move(reinterpret_cast<char*>(&to) + offset, from, size), waited();
}
template <class S> cudaError_t cudaMemcpyFromSymbol(void* to, const S& from, std::size_t size, std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
    return emulated::move(to, reinterpret_cast<const char*>(&from) + offset, size), waited();
}
OUTSIDE static cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t = nullptr) {
    emulated::copy(to, size, from, size, size, 1, kind, HERE);
    return cudaSuccess;
}
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaStreamNonBlocking = 1;
template <class V> cudaError_t cudaHostAlloc(V** to, std::size_t size, unsigned) {
    *to = static_cast<V*>(std::malloc(size));
    return cudaSuccess;
}
template <class V> cudaError_t cudaMallocHost(V** to, std::size_t size) { return cudaHostAlloc(to, size, 0); }
static cudaError_t cudaFreeHost(void* at) { return std::free(at), cudaSuccess; }
static cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
static cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
static cudaError_t cudaSetDevice(int device) { return device ? cudaErrorInvalidValue : cudaSuccess; }
static cudaError_t cudaDeviceReset() { return waited(); }
static cudaError_t cudaStreamCreate(cudaStream_t* made) { return *made = nullptr, cudaSuccess; }
static cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) { return cudaStreamCreate(made); }
static cudaError_t cudaStreamSynchronize(cudaStream_t) { return waited(); }
static cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
OUTSIDE static cudaError_t cudaMemset(void* to, int value, std::size_t size) {
    emulated::fill(to, value, size, HERE);
    return cudaSuccess;
}
OUTSIDE static cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t = nullptr) {
    emulated::fill(to, value, size, HERE);
    return cudaSuccess;
}
static cudaError_t cudaDeviceSynchronize() { return waited(); }
static cudaError_t cudaThreadSynchronize() { return waited(); }
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
    if (of == cudaFuncAttributeMaxDynamicSharedMemorySize) emulated::allow_shared(value);
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
    computed_in(whole, sizeof(V));
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
