"""What is asked of a closure: results, routes, flows, measures, reachability, projects."""
