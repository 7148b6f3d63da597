// A file of CUDA C++ as a program: what its kernels read and write, counted warp by warp as a card would ask its memory
// for it; what is out of bounds, unordered or misses a barrier. The compiler calls `__tsan_…` before each access to
// memory (-fsanitize=thread, without its library), `__ubsan_…` where an index or a sum leaves its range.
#define COUNTING
#include "counted.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <unordered_map>

extern "C" char __executable_start, _end, __attribute__((weak)) __data_start, __start_own_variables, __stop_own_variables;
extern "C" char __attribute__((weak)) __start_device_variables, __attribute__((weak)) __stop_device_variables;
extern "C" char __attribute__((weak)) __start_managed_variables, __attribute__((weak)) __stop_managed_variables;
constexpr unsigned GAP = 128, STATIC = 48 << 10, DYNAMIC = 227 << 10;
extern "C" alignas(GAP) unsigned char shared_memory[DYNAMIC + GAP + 2 * STATIC] = {};
namespace emulated {
constexpr std::size_t MOST = 1 << 18;  // accesses of a thread between two barriers that are counted
enum Space { GLOBAL, SHARED };
// An instruction of the program that reads or writes, and what all warps together asked by it.
struct Site {
    std::size_t pc;
    bool write;
    int space = GLOBAL, kernel = 0;
    unsigned long long requests = 0, lanes = 0, bytes = 0, sectors = 0, wavefronts = 0, least = 0;
};
struct Access {
    int site, size;
    std::size_t at;
};
// Who wrote and read a byte of shared memory last, and when.
struct Touched {
    unsigned long long written = 0, read = 0;
    int writer = -1, reader = -1;
    std::size_t wrote = 0, looked = 0;
};
struct Kernel {
    std::string name;
    dim3 grid, block;
    std::size_t shared = 0;
    unsigned long long launches = 0, blocks = 0, barriers = 0;
    bool uncounted = false;
};
struct Hazard {
    std::string text;
    std::size_t pc, other;
    unsigned long long count = 0;
};
// Who wrote and read a word of the device last, when, and what was there before; 0 is before the first write.
struct Word {
    unsigned long long written;
    unsigned writer, reader, before, wrote;
};
struct Memory {
    std::size_t size;
    const char* name;
    Word* words = nullptr;
    bool managed = false, freed = false;  // managed: the host may touch it
};
static std::map<std::size_t, Memory> device;
static std::map<std::size_t, Memory> variables;  // of shared memory, by offset
static std::vector<Kernel> kernels;
static std::map<std::pair<std::size_t, int>, int> numbers;  // of sites
static std::vector<Site> sites;
static std::map<std::pair<std::string, std::size_t>, Hazard> hazards;
static std::vector<std::vector<Access>> logs;
static std::vector<Touched> touched;
static std::vector<unsigned long long> met;  // when the threads of a warp met last
static std::array<int, 4096> offsets;        // of shared variables
static unsigned long long now = 2, launched, began, passed_at;
static unsigned first_thread;  // of the block, in the launch
static std::size_t dynamic_size, last_pc;
static int kernel_number = -1;  // −1: the host runs
bool running;
static const char* report_file;
char dtype[16];
static auto start = std::chrono::steady_clock::now();

template <class... P> std::string text(const char* format, P... given) {
    char made[600];
    std::snprintf(made, sizeof made, format, given...);
    return made;
}
template <class X> std::string triple(X x) { return text("(%u, %u, %u)", x.x, x.y, x.z); }
static std::string in_block() { return text("kernel %s, block %s", kernels[kernel_number].name.c_str(), triple(blockIdx).c_str()); }
static std::string here() { return in_block() + ", thread " + triple(threadIdx); }
static std::string where() { return kernel_number < 0 ? "in the host's part" : "in " + here(); }

// The report: faults, hazards and counters, a line of JSON each; addresses of instructions, `@…`, become lines of the file
// elsewhere: `pc`, if it has none `other`.
static void write_report(const char* fault, std::size_t pc, std::size_t other, const double* entries = nullptr, std::size_t count = 0) {
    std::FILE* to = std::fopen(report_file, "wb");
    if (!to) _exit(99);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::fprintf(to, "[\"%s\", @%zu, @%zu, \"%s\", %g]\n", fault, pc, other, dtype, took.count());
    for (const auto& [of, h] : hazards)
        std::fprintf(to, "[\"hazard\", \"%s\", \"%s\", @%zu, @%zu, %llu]\n", of.first.c_str(), h.text.c_str(), h.pc, h.other, h.count);
    for (const Kernel& k : kernels)
        std::fprintf(to, "[\"kernel\", \"%s\", %llu, [%u, %u, %u], [%u, %u, %u], %zu, %llu, %llu, %s]\n", k.name.c_str(), k.launches, k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y, k.block.z, k.shared, k.blocks, k.barriers, k.uncounted ? "true" : "false");
    for (const Site& s : sites)
        if (s.requests) std::fprintf(to, "[\"site\", %d, @%zu, %s, \"%s\", %llu, %llu, %llu, %llu, %llu, %llu]\n", s.kernel, s.pc, s.write ? "true" : "false", s.space == GLOBAL ? "global" : "shared", s.requests, s.lanes, s.bytes, s.sectors, s.wavefronts, s.least);
    std::fputs("\n", to);
    if (entries) std::fwrite(entries, sizeof(double), count, to);
    std::fclose(to);
}
[[noreturn]] static void fail(std::string fault, std::size_t pc, std::size_t other = 0) {
    for (char& c : fault) c = c == '"' || c == '\\' ? '\'' : c;  // a text of JSON
    write_report(fault.c_str(), pc, other);
    std::fflush(stdout);
    _exit(3);
}
void refuse(const char* why) { fail(why, 0); }
static void hazard(const char* kind, std::size_t pc, std::size_t other, const std::string& what) {
    Hazard& it = hazards[{kind, pc}];
    if (!it.count++) it.text = what, it.pc = pc, it.other = other;
}

void* allocate(std::size_t size, const char* name, std::size_t pc, bool managed) {
    const std::size_t page = sysconf(_SC_PAGESIZE), most = sysconf(_SC_PHYS_PAGES) / 4 * page;
    static std::size_t all = 0;
    const std::size_t whole = (std::min(size, most) + page - 1) / page * page;
    char* at = size > most || (all += size) > most ? nullptr : pages(whole + 2 * page);
    char* words = at ? pages(whole / 4 * sizeof(Word) + page) : nullptr;
    if (!words) fail(text("the host asks for %zu bytes by %s, which are not there", size, name), pc);
    std::memset(at += page, 0x5c, size);  // no number yet
    device[reinterpret_cast<std::size_t>(at)] = {size, name, reinterpret_cast<Word*>(words), managed};
    return at;
}
bool release(void* at) {
    const auto found = device.find(reinterpret_cast<std::size_t>(at));
    if (found != device.end() && !found->second.freed) {
        madvise(at, found->second.size, MADV_DONTNEED), madvise(found->second.words, found->second.size / 4 * sizeof(Word), MADV_DONTNEED);
        return found->second.freed = true;
    }
    return !at;
}
// The memory in which all these bytes lie, or nullptr.
static const std::pair<const std::size_t, Memory>* holder(const std::map<std::size_t, Memory>& all, std::size_t at, std::size_t size = 1) {
    const auto next = all.upper_bound(at);
    return next != all.begin() && at - std::prev(next)->first + size <= std::prev(next)->second.size ? &*std::prev(next) : nullptr;
}
void written(const void* from, std::size_t size) {
    const std::size_t at = reinterpret_cast<std::size_t>(from);
    if (const auto* there = size ? holder(device, at) : nullptr)
        for (Word *w = there->second.words + (at - there->first) / 4, *end = there->second.words + (at - there->first + size + 3) / 4; w < end; ++w) *w = {1};
}
// Variables of the device, as memory of it.
static void hold(const char* name, char& first, char& end, bool managed) {
    const std::size_t at = reinterpret_cast<std::size_t>(&first) / 4 * 4, size = reinterpret_cast<std::size_t>(&end) - at;
    if (size) device[at] = {size, name, reinterpret_cast<Word*>(pages(size / 4 * sizeof(Word) + sizeof(Word))), managed};
    written(&first, size);
}
// An end of a copy by the host: on the device if its kind says so, and within what was allocated there.
static void reaches(const void* from, std::size_t size, int on_device, const char* name, std::size_t pc) {
    const std::size_t at = reinterpret_cast<std::size_t>(from);
    const auto* there = holder(device, at);
    if (!size) return;
    if (on_device >= 0 && bool(there) != bool(on_device) && !(there && there->second.managed)) fail(text("a copy fails: %s is memory of the %s, and its kind says of the %s", name, there ? "device" : "host", there ? "host" : "device"), pc);
    if (there && there->second.freed) fail(text("a copy fails: %s is memory that cudaFree was given", name), pc);
    if (there && at - there->first + size > there->second.size) fail(text("a copy fails: %zu bytes of %s do not lie in %s, which has %zu from there on", size, name, there->second.name, there->second.size - (at - there->first)), pc);
}
void copy(void* to, std::size_t apart, const void* from, std::size_t each, std::size_t width, std::size_t rows, int kind, std::size_t pc) {
    for (std::size_t i = 0; i < rows; ++i) {
        char* target = static_cast<char*>(to) + i * apart;
        const char* source = static_cast<const char*>(from) + i * each;
        reaches(target, width, kind > 3 ? -1 : kind % 2, "what is written", pc);
        reaches(source, width, kind > 3 ? -1 : kind / 2, "what is read", pc);
        std::memmove(target, source, width), written(target, width);
    }
}
void fill(void* to, int value, std::size_t size, std::size_t pc) {
    reaches(to, size, 1, "what is set", pc);
    std::memset(to, value, size), written(to, size);
}
void move(void* to, const void* from, std::size_t size) { std::memmove(to, from, size); }
void* variable(int number, std::size_t size, const char* name) {
    int& offset = offsets[number];
    if (offset < 0) {
        offset = variables.empty() ? 0 : (variables.rbegin()->first + variables.rbegin()->second.size + 2 * GAP - 1) / GAP * GAP;
        variables[offset] = {size, name};
        std::size_t all = 0;
        for (const auto& [at, it] : variables) all += it.size;
        if (all - dynamic_size > STATIC) fail(text("kernel %s: its __shared__ variables take %zu bytes, and a block has %u. Take smaller tiles", kernels[kernel_number].name.c_str(), all - dynamic_size, STATIC), 0);
        kernels[kernel_number].shared = all;
    }
    return shared + offset;
}

static void ordered(std::size_t offset, int size, bool write, std::size_t pc, const char* name, bool atomic) {
    const unsigned long long since = std::max(passed_at, began), own = met[self / 32];
    const auto unordered = [&](unsigned long long when, int who) {
        return when > since && who >= 0 && who != int(self) && !(who / 32 == int(self) / 32 && when <= own);
    };
    for (Touched* t = &touched[offset]; t < &touched[offset] + size; ++t) {
        if (atomic) {  // by nobody
            t->written = now, t->writer = -1;
            continue;
        }
        if (unordered(t->written, t->writer)) {
            hazard("race", pc, t->wrote, text("%s %s %s, which thread %s wrote, and no __syncthreads() lies between", here().c_str(), write ? "writes" : "reads", name, triple(position(t->writer, blockDim)).c_str()));
        } else if (write && (t->reader == -2 ? t->read > since : unordered(t->read, t->reader))) {
            hazard("race", pc, t->looked, text("%s writes %s, which %s read, and no __syncthreads() lies between", here().c_str(), name, t->reader < 0 ? "other threads" : ("thread " + triple(position(t->reader, blockDim))).c_str()));
        } else if (!write && t->written <= began) {
            hazard("unwritten", pc, 0, text("%s reads %s where no thread of the block has written yet", here().c_str(), name));
        }
        if (write) t->written = now, t->writer = self, t->wrote = pc;
        else t->reader = t->read > since && t->reader != int(self) ? -2 : int(self), t->read = now, t->looked = pc;
    }
}
// A word that nobody has written is no number; one that another thread changes in this launch is one or another; one
// that another thread wrote, and this one read, loses what that wrote.
static void ordered(const Memory& memory, std::size_t at, std::size_t offset, int size, bool write, std::size_t pc, bool atomic) {
    const unsigned own = first_thread + self, threads = block->fibers.size(), *value = reinterpret_cast<unsigned*>(at / 4 * 4);
    for (Word* w = memory.words + offset / 4; w < memory.words + (offset + size + 3) / 4; ++w, ++value) {
        const bool here_too = w->writer / threads == own / threads;
        const bool after = here_too && (w->written <= passed_at || (w->writer % threads / 32 == self / 32 && w->written <= met[self / 32]));
        if (!write && !w->written) hazard("unwritten", pc, 0, text("%s reads memory of %s that nobody has written", here().c_str(), memory.name));
        if (write && !atomic && size >= 4 && w->written > launched && w->writer != own && w->reader == own + 1 && !after)
            hazard("lost", pc, 0, text("%s writes %s where another thread of the launch has written, which a card may lose: atomicMin, atomicMax or one writer is needed", here().c_str(), memory.name));
        if (!write && size >= 4 && w->written > launched && w->writer != own && w->wrote && *value != w->before && !after)
            hazard("race", pc, w->wrote, text("%s reads %s, which another thread of the launch has changed, and might not have yet: a barrier, or a launch of its own is needed", here().c_str(), memory.name));
        if (write) {
            if (w->writer != own || w->written <= passed_at) w->before = *value;
            w->written = now, w->writer = own, w->wrote = atomic ? 0 : pc;
        }
        if (!write || atomic) w->reader = own + 1;
    }
}
void access(const void* where, int size, bool write, std::size_t pc, bool atomic) {
    const std::size_t at = reinterpret_cast<std::size_t>(where), offset = at - reinterpret_cast<std::size_t>(shared);
    if (at - reinterpret_cast<std::size_t>(stacks) < stacks_size && kernel_number >= 0) return;
    const auto* some = holder(device, at);
    const auto within = [at](const char& first, const char& end) { return at - reinterpret_cast<std::size_t>(&first) < std::size_t(&end - &first); };
    const bool own = within(__start_own_variables, __stop_own_variables);
    if (kernel_number < 0) {  // the host, in memory of its own
        const char* does = write ? "writes" : "reads";
        if (own || within(__start_device_variables, __stop_device_variables)) fail(text("the host %s a variable of the device: copy it with cudaMemcpy%sSymbol", does, write ? "To" : "From"), pc);
        if (some && !some->second.managed) fail(text("the host %s memory of the device: copy it with cudaMemcpy, or do it in a kernel", does), pc);
        if (some && some->second.freed) fail(text("the host %s memory that cudaFree was given", does), pc);
        if (some && running) hazard("unwaited", pc, 0, text("the host %s %s while a kernel may run: cudaDeviceSynchronize() must come before", does, some->second.name));
        if (write && some) written(where, size);
        return;
    }
    last_pc = pc;
    if (own && write) fail(here() + " writes what is constant for kernels: cudaMemcpyToSymbol sets it", pc);
    const auto wrong = [&](const std::string& why) { fail(here() + (write ? " writes " : " reads ") + why, pc); };
    const int space = offset < touched.size() ? SHARED : GLOBAL;
    if (space == SHARED) {
        const auto* there = holder(variables, offset, size);
        if (!there) wrong("shared memory behind the end of a variable");
        ordered(offset, size, write, pc, there->second.name, atomic);
    } else if (some) {
        const auto& [first, memory] = *some;
        if (memory.freed) wrong("memory that cudaFree was given");
        if (at - first + size > memory.size) wrong(text("out of bounds: %s, beyond its end (it has %zu)", memory.name, memory.size));
        if (at % size) wrong(text("%d bytes at an address that is no multiple of them", size));
        ordered(memory, at, at - first, size, write, pc, atomic);
    } else {
        const char* variables_of_host = &__data_start ? &__data_start : &_end;  // constants and code lie before them
        if (own || at - reinterpret_cast<std::size_t>(&__executable_start) < std::size_t(variables_of_host - &__executable_start)) return;
        if (at - reinterpret_cast<std::size_t>(variables_of_host) < std::size_t(&_end - variables_of_host))
            wrong("a variable of the host: __device__ or __constant__ must stand before it");
        std::string near;
        for (const auto& [first, memory] : device) {
            if (memory.freed) continue;
            const std::ptrdiff_t past = at - first - memory.size, before = first - at;
            if (past >= 0 && past < 1 << 24) near = text("%s, %td bytes behind its end (it has %zu)", memory.name, past, memory.size);
            if (before > 0 && before < 1 << 24 && near.empty()) near = text("%s, %td bytes before its beginning", memory.name, before);
        }
        wrong("out of bounds: " + (near.empty() ? "memory that is not the device's" : near));
    }
    std::vector<Access>& log = logs[self];
    if (log.size() >= MOST) {
        kernels[kernel_number].uncounted = true;
        return;
    }
    const auto [number, fresh] = numbers.try_emplace({pc, kernel_number}, int(sites.size()));
    if (fresh) sites.push_back({pc, write, space, kernel_number});
    log.push_back({number->second, size, at});
}

// One instruction of a warp: which sectors of 32 bytes it touches; how often the banks of shared memory must answer.
static void count(Site& site, const std::vector<const Access*>& lanes) {
    ++site.requests, site.lanes += lanes.size();
    std::vector<std::size_t> seen;
    for (const Access* a : lanes) site.bytes += a->size;
    if (site.space == GLOBAL) {
        for (const Access* a : lanes) seen.push_back(a->at);
        std::sort(seen.begin(), seen.end());
        const auto end = std::unique(seen.begin(), seen.end());
        site.least += ((end - seen.begin()) * lanes[0]->size + 31) / 32;  // were they neighbours
        site.sectors += std::unique(seen.begin(), end, [](std::size_t a, std::size_t b) { return a / 32 == b / 32; }) - seen.begin();
        return;
    }
    const std::size_t together = 128 / std::max(lanes[0]->size, 4);  // lanes whose words the banks give at once
    for (std::size_t first = 0; first < lanes.size(); first += together) {
        seen.clear();
        for (std::size_t i = first; i < std::min(first + together, lanes.size()); ++i)
            for (int w = 0; w < lanes[i]->size; w += 4) seen.push_back((lanes[i]->at - reinterpret_cast<std::size_t>(shared) + w) / 4);
        std::sort(seen.begin(), seen.end());
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        unsigned banks[32] = {}, most = 0;
        for (std::size_t word : seen) most = std::max(most, ++banks[word % 32]);
        site.wavefronts += most, ++site.least;
    }
}
// The k-th time that threads of a warp come by an instruction, they do so together.
void paused(Block& all) {
    static std::vector<std::vector<std::vector<const Access*>>> asked;
    static std::vector<std::size_t> times;
    if (kernel_number < 0) return;
    for (std::size_t warp = 0; warp < all.fibers.size(); warp += 32) {
        asked.resize(sites.size());
        const std::size_t end = std::min(warp + 32, all.fibers.size());
        for (std::size_t t = warp; t < end; ++t) {
            times.assign(sites.size(), 0);
            for (const Access& a : logs[t]) {
                auto& of = asked[a.site];
                if (of.size() <= times[a.site]) of.emplace_back();
                of[times[a.site]++].push_back(&a);
            }
        }
        for (std::size_t s = 0; s < sites.size(); ++s) {
            for (const auto& lanes : asked[s]) count(sites[s], lanes);
            asked[s].clear();
        }
        for (std::size_t t = warp; t < end; ++t) logs[t].clear();
    }
}

void passed(long which) {
    if (which == 0) {
        ++kernels[kernel_number].barriers;
        passed_at = now++;
        for (std::size_t t = 1; t < block->fibers.size(); ++t)
            if (block->fibers[t].at != block->fibers[0].at) {
                hazard("divergent", block->fibers[t].at, block->fibers[0].at, text("%s: threads %s and %s wait at different __syncthreads()", in_block().c_str(), triple(position(0, blockDim)).c_str(), triple(position(t, blockDim)).c_str()));
                break;
            }
    } else {
        met[which % 1000] = now++;
    }
    leave();  // what follows is counted with the others'
}
void silent(unsigned lane) {
    hazard("silent", mine().at, 0, text("%s reads lane %u, which has returned, is not there, or is not in the mask", here().c_str(), lane));
}
// Who has returned is not waited for, as on a card of today; older ones hang, or go on too early.
bool stuck(Block& all) {
    for (auto& [which, barrier] : all.barriers) {
        if (which < 1000 || !barrier.arrived) continue;
        const std::size_t warp = which % 1000;
        unsigned lanes = 0, gone = 0, waits = 0;
        for (std::size_t t = warp * 32; lanes < 32 && t < all.fibers.size(); ++t, ++lanes) {
            const Fiber& f = all.fibers[t];
            gone += f.done;
            if (!f.done && f.waits == &barrier && f.generation == barrier.generation) ++waits, self = t;
        }
        if (gone + waits < lanes) continue;
        if (gone) hazard("missed", all.fibers[self].at, 0, text("%s: %u of the %u threads of a warp returned before a __syncwarp() or a shuffle at which %u wait", in_block().c_str(), gone, lanes, waits));
        next(barrier), met[warp] = now++;
        return true;
    }
    Barrier& barrier = all.barriers[0];
    unsigned returned = 0, waiting = 0, first = all.fibers.size();
    for (std::size_t t = 0; t < all.fibers.size(); ++t) {
        const Fiber& f = all.fibers[t];
        if (f.done) ++returned, first = std::min(first, unsigned(t));
        else self = t, waiting += f.waits == &barrier;
    }
    if (!waiting || returned + waiting < all.fibers.size())
        fail(text("%s: threads of a warp wait for others that do not come: __syncwarp() or a shuffle that not all of its lanes reach", in_block().c_str()), all.fibers[self].at);
    hazard("missed", all.fibers[self].at, 0, text("%s: %u of %zu threads, %s first, returned before a __syncthreads() at which %u wait", in_block().c_str(), returned, all.fibers.size(), triple(position(first, blockDim)).c_str(), waiting));
    next(barrier);
    ++kernels[kernel_number].barriers, passed_at = now++;
    return true;
}
unsigned char* room(unsigned, unsigned) { return shared_memory; }
void enters(Block&) {}

int allowed = STATIC;
void Launch::run(void (*thread)(const void*), const void* given) const {
    const std::size_t threads = std::size_t(block.x) * block.y * block.z, blocks = std::size_t(grid.x) * grid.y * grid.z;
    const auto wrong = [&](const std::string& why) { fail(text("line %d: the launch of %s fails: ", line, name) + why, 0); };
    if (kernel_number >= 0) wrong("a kernel launches it, which is not emulated");
    if (!blocks || !threads) wrong("a grid of " + triple(grid) + " blocks of " + triple(block) + " threads is empty");
    if (threads > 1024 || block.z > 64) wrong("a block has at most 1024 threads (64 along z), got " + triple(block));
    if (grid.x > INT_MAX || grid.y > 65535 || grid.z > 65535) wrong("a grid has at most 65535 blocks along y and z, got " + triple(grid));
    if (shared > DYNAMIC) wrong(text("a block has at most %u bytes of shared memory, got %zu", DYNAMIC, shared));
    if (shared > std::size_t(allowed)) wrong(text("%zu bytes of shared memory, beyond %d, take cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %zu) before", shared, allowed, name, shared));
    auto known = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
    if (known == kernels.end()) known = kernels.insert(known, {name});
    kernel_number = known - kernels.begin();
    known->grid = grid, known->block = block, known->shared = std::max(known->shared, shared), known->blocks += blocks;
    dynamic_size = shared, variables.clear(), offsets.fill(-1);
    if (shared) variables[0] = {shared, "extern __shared__"};
    touched.resize((shared + GAP - 1) / GAP * GAP + 2 * STATIC);
    logs.resize(std::max(logs.size(), threads));
    kernel = thread, arguments = given;
    // Every other launch runs the last block and the last thread of each first: a card promises no order.
    const bool backwards = known->launches++ % 2;
    gridDim = grid, blockDim = block;
    launched = now++;
    for (std::size_t b = 0; b < blocks; ++b) {
        first_thread = (backwards ? blocks - 1 - b : b) * threads;
        began = passed_at = now++, met.assign(threads / 32 + 1, began);
        emulated::run(backwards ? blocks - 1 - b : b, 1, threads, touched.size(), backwards);
    }
    kernel_number = -1, running = true;
}

static void on_signal(int number, siginfo_t*, void* context) {
    std::size_t at = 0;  // of the program's next instruction, unless it is in a library
#if defined(__x86_64__)
    at = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    at = static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#endif
    at = at - reinterpret_cast<std::size_t>(&__executable_start) < std::size_t(&_end - &__executable_start) ? at + 1 : 0;
    fail(number == SIGALRM ? "the time is up, " + where() : (number == SIGFPE ? "a division by zero, " : "a crash (a stack that is too large, or memory that is not the program's), ") + where(), at, kernel_number < 0 ? 0 : last_pc);
}
}  // namespace emulated

#define HOOK(kind, size)                                                                          \
    void __tsan_##kind##read##size(void* at) { emulated::access(at, size, false, HERE); }        \
    void __tsan_##kind##write##size(void* at) { emulated::access(at, size, true, HERE); }
#define HOOKS(size) HOOK(, size) HOOK(unaligned_, size) HOOK(volatile_, size)
static std::string index_of(std::size_t given) { return std::to_string(given >> 32 ? long(given) : long(int(given))); }
extern "C" {
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
void __tsan_init() {}
[[noreturn]] void __assert_fail(const char* what, const char*, unsigned line, const char*) noexcept {
    emulated::fail(emulated::text("line %u: an assertion fails, %s, ", line, what) + emulated::where(), 0);
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void touch(const void* at, unsigned long size, bool write, std::size_t pc) {
    const int each = (reinterpret_cast<std::size_t>(at) | size) % 4 ? 1 : 4;
    for (unsigned long i = 0; i < size; i += each) emulated::access(static_cast<const char*>(at) + i, each, write, pc);
}
void __tsan_read_range(void* at, unsigned long size) { touch(at, size, false, HERE); }
void __tsan_write_range(void* at, unsigned long size) { touch(at, size, true, HERE); }
// Atomic accesses of the host, which has one thread here.
#define ATOMICS(bits, V)                                                                          \
    V __tsan_atomic##bits##_load(const V* at, int) { return *at; }                                \
    void __tsan_atomic##bits##_store(V* at, V value, int) { *at = value; }                        \
    V __tsan_atomic##bits##_exchange(V* at, V value, int) { return std::exchange(*at, value); }   \
    V __tsan_atomic##bits##_fetch_add(V* at, V by, int) { return std::exchange(*at, *at + by); } \
    V __tsan_atomic##bits##_fetch_sub(V* at, V by, int) { return std::exchange(*at, *at - by); } \
    int __tsan_atomic##bits##_compare_exchange_strong(V* at, V* seen, V next, int, int) {         \
        return *at == *seen ? (*at = next, 1) : (*seen = *at, 0);                                 \
    }
ATOMICS(8, unsigned char) ATOMICS(16, unsigned short) ATOMICS(32, unsigned) ATOMICS(64, unsigned long)
void* counted_memcpy(void* to, const void* from, std::size_t size) { return touch(from, size, false, HERE), touch(to, size, true, HERE), std::memcpy(to, from, size); }
void* counted_memmove(void* to, const void* from, std::size_t size) { return touch(from, size, false, HERE), touch(to, size, true, HERE), std::memmove(to, from, size); }
void* counted_memset(void* to, int value, std::size_t size) { return touch(to, size, true, HERE), std::memset(to, value, size); }
void __ubsan_handle_out_of_bounds(void*, std::size_t index) {
    emulated::fail((emulated::kernel_number < 0 ? "the host" : emulated::here()) + " is out of the bounds of an array with index " + index_of(index), HERE);
}
void overflowed(std::size_t pc, const char* sign, std::size_t a, std::size_t b) {
    if (emulated::kernel_number >= 0) emulated::hazard("overflow", pc, 0, emulated::here() + " leaves the range of its integers: " + index_of(a) + sign + index_of(b) + " (∞ is INT_MAX: ask for it before adding)");
}
void __ubsan_handle_add_overflow(void*, std::size_t a, std::size_t b) { overflowed(HERE, " + ", a, b); }
void __ubsan_handle_sub_overflow(void*, std::size_t a, std::size_t b) { overflowed(HERE, " - ", a, b); }
void __ubsan_handle_mul_overflow(void*, std::size_t a, std::size_t b) { overflowed(HERE, " * ", a, b); }
void __ubsan_handle_divrem_overflow(void*, std::size_t a, std::size_t b) { if (b) overflowed(HERE, " / ", a, b); }  // else a signal
void __ubsan_handle_negate_overflow(void*, std::size_t a) { overflowed(HERE, " - ", 0, a); }
}

// program MATRIX N PITCH SECONDS REPORT
#undef main
int main(int, char** given) {
    using namespace emulated;
    const int n = std::atoi(given[2]), pitch = std::atoi(given[3]);
    report_file = given[5];
    std::vector<double> entries(std::size_t(n) * n);
    std::FILE* from = std::fopen(given[1], "rb");
    if (!from || std::fread(entries.data(), sizeof(double), entries.size(), from) != entries.size()) return 98;
    std::fclose(from);
    static char alternate[1 << 16];
    const stack_t aside{alternate, 0, sizeof alternate};
    sigaltstack(&aside, nullptr);
    for (int number : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE}) {
        struct sigaction action {};
        action.sa_sigaction = on_signal, action.sa_flags = SA_ONSTACK | SA_SIGINFO;
        sigaction(number, &action, nullptr);
    }
    hold("a variable", __start_device_variables, __stop_device_variables, false);
    hold("a managed variable", __start_managed_variables, __stop_managed_variables, true);
    alarm(std::max(1, std::atoi(given[4])));
    solve({entries.data(), n, pitch});
    write_report("", 0, 0, entries.data(), entries.size());
}
