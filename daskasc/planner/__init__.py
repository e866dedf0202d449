"""Graph passes: owner maps and two-level reductions. Pure functions; no torch, no cluster."""

from daskasc.planner._optimize import Planner, SchedulerPlanner

__all__ = ["Planner", "SchedulerPlanner"]
