"""Answers from a closure: results, routes, flows, measures, reachability, projects."""
