"""Many pools of one data set, each rated alone: their files, their places, what is done already."""
