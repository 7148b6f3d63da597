// The report of what a program asked of memory: faults, hazards, and counters by instruction. Included by counted.cpp.
#pragma once

// List of JSON of the texts that `one` returns for each element; empty texts are left out.
template <class All, class F> std::string listed(const All& all, F one) {
    std::string found;
    for (const auto& it : all)
        if (const std::string made = one(it); !made.empty()) found += (found.empty() ? "" : ", ") + made;
    return "[" + found + "]";
}
// The report, as JSON; addresses of instructions become lines of the file elsewhere: `pc`, if it has none `other`.
static void write_report(const char* fault, std::size_t pc, std::size_t other, const double* entries = nullptr, std::size_t count = 0) {
    std::FILE* to = std::fopen(report_file, "wb");
    if (!to) _exit(99);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const std::string told = listed(hazards, [](const auto& known) {
        const Hazard& h = known.second;
        return "{\"kind\": \"" + known.first.first + "\", \"text\": \"" + h.text + text("\", \"pc\": %zu, \"other\": %zu, \"count\": %llu}", h.pc, h.other, h.count);
    });
    const std::string counted = listed(kernels, [](const Kernel& it) {
        const std::string sizes = text("\"launches\": %llu, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %zu, ", it.launches, it.grid.x, it.grid.y, it.grid.z, it.block.x, it.block.y, it.block.z, it.shared);
        const std::string totals = text("\"blocks\": %llu, \"barriers\": %llu, \"uncounted\": %s, ", it.blocks, it.barriers, it.uncounted ? "true" : "false");
        return "{\"name\": \"" + it.name + "\", " + sizes + totals + "\"sites\": " + listed(sites, [&it](const Site& s) {
            if (&kernels[s.kernel] != &it || !s.requests) return std::string();
            return text("{\"pc\": %zu, \"write\": %s, \"space\": \"%s\", \"requests\": %llu, \"lanes\": %llu, \"bytes\": %llu, \"sectors\": %llu, \"wavefronts\": %llu, \"least\": %llu}", s.pc,
                        s.write ? "true" : "false", s.space == GLOBAL ? "global" : "shared", s.requests, s.lanes, s.bytes, s.sectors, s.wavefronts, s.least);
        }) + "}";
    });
    std::fprintf(to, "{\"fault\": \"%s\", \"dtype\": \"%s\", \"pc\": %zu, \"other\": %zu, \"seconds\": %g, \"hazards\": %s, \"kernels\": %s}\n", fault, numbers_of.c_str(), pc, other, took.count(), told.c_str(), counted.c_str());
    if (entries) std::fwrite(entries, sizeof(double), count, to);
    std::fclose(to);
}
