"""Mathematics without words of the domain: functions, roots and sums for kernels."""
