// RoutingKit's tables and new weights, timed on request: what benchmarks/routingkit.py compiles and runs.
//
//     routingkit DIR        DIR has tail, head, weight, weight2, sources, targets (uint32), latitude, longitude (float32)
//
// Each line of the input names something to do once; the answer is the seconds of this thread's processor clock. "write"
// puts the last table into DIR/table.

#include <routingkit/constants.h>
#include <routingkit/contraction_hierarchy.h>
#include <routingkit/customizable_contraction_hierarchy.h>
#include <routingkit/nested_dissection.h>
#include <routingkit/vector_io.h>

#include <iostream>
#include <string>
#include <time.h>
#include <vector>

using namespace RoutingKit;
using Numbers = std::vector<unsigned>;

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

template <class Query> static void table(Query& query, const Numbers& sources, const Numbers& targets, Numbers& found) {
    query.reset().pin_targets(targets);
    for (std::size_t k = 0; k < sources.size(); ++k) {
        query.reset_source().add_source(sources[k]).run_to_pinned_targets();
        query.get_distances_to_targets(found.data() + k * targets.size());
    }
}

int main(int, char** arguments) {
    const std::string folder = std::string(arguments[1]) + "/";
    const auto numbers = [&](const char* name) { return load_vector<unsigned>(folder + name); };
    const Numbers tail = numbers("tail"), head = numbers("head"), sources = numbers("sources"), targets = numbers("targets");
    const Numbers weights[2] = {numbers("weight"), numbers("weight2")};
    const auto latitude = load_vector<float>(folder + "latitude"), longitude = load_vector<float>(folder + "longitude");
    const auto order =
        compute_nested_node_dissection_order_using_inertial_flow(latitude.size(), tail, head, latitude, longitude);
    const CustomizableContractionHierarchy cch(order, tail, head);
    CustomizableContractionHierarchyMetric metric(cch, weights[0]);
    metric.customize();
    const auto ch = ContractionHierarchy::build(latitude.size(), tail, head, weights[0]);
    CustomizableContractionHierarchyQuery by_cch(metric);
    ContractionHierarchyQuery by_ch(ch);
    Numbers found(sources.size() * targets.size());
    std::cout << cch.cch_arc_count() << std::endl;
    unsigned now = 0;
    for (std::string what; std::getline(std::cin, what);) {
        const double start = seconds();
        if (what == "customize") {
            now ^= 1;
            metric.reset(weights[now]).customize();
        } else if (what == "table by cch") {
            by_cch.reset(metric);
            table(by_cch, sources, targets, found);
        } else if (what == "table by ch") {
            table(by_ch, sources, targets, found);
        } else {
            save_vector(folder + "table", found);
        }
        std::cout << seconds() - start << std::endl;
    }
}
