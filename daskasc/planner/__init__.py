"""Graph passes: owner maps and two-level reductions. Pure functions; no torch, no cluster."""

from daskasc.planner._optimize import Planner, SchedulerPlanner
from daskasc.planner._place import place
from daskasc.planner._plan import Plan, plan

__all__ = ["Plan", "Planner", "SchedulerPlanner", "place", "plan"]
