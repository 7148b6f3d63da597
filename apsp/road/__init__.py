"""The road of every question: question, plan, engine, answer; schedules, estimates and convergence."""
