"""TrueSkill, and the closed forms of Weng and Lin."""
